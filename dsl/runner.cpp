#include "dsl/runner.h"

#include <algorithm>

#include "dsl/diagnostics.h"

namespace coll::dsl {

using namespace ast;

namespace {

constexpr int kMostRefused = 20;  // statements told of before giving up

}  // namespace

Runner::Runner(const File& file, const Item& item, Program& program, Diagnostics& diagnostics)
    : file_(file), item_(item), program_(program), diagnostics_(diagnostics) {}

bool Runner::run() {
  try {
    for (StmtId id : item_.body) {
      const Stmt& s = file_[id];
      switch (s.kind) {
        case Stmt::Kind::kChunks:
        case Stmt::Kind::kTmp:
        case Stmt::Kind::kInstances:
        case Stmt::Kind::kHintLine:
          declaring_ = &s;
          declare(s);
          declaring_ = nullptr;
          break;
        case Stmt::Kind::kLet:
          program_.bind(s.slot, value(s, s.value));
          break;
        default: {
          std::vector<Step> steps;
          uint32_t visible = 0xffffffffu;
          compile_statement(s, steps, visible);
          Size total = size(steps);
          expect(total.leaves, total.sure, s);
          if (total.steps > program_.steps_left()) {
            refuse_size(s.span, "this takes " + amount(total.steps, "steps (loop iterations and statements)") +
                                    ": a run takes up to " + std::to_string(program_.max_steps()));
          }
          exec(steps);
          current_ = nullptr;  // it pointed into `steps`
        }
      }
    }
  } catch (const Stop&) {
    return false;
  } catch (const Told&) {
    return false;
  }
  return refused_ == 0;
}

// --- compiling ------------------------------------------------------------------------------------------------------

uint32_t Runner::show(uint32_t outer, std::string_view name, uint32_t slot) {
  visible_.push_back({outer, name, slot});
  return static_cast<uint32_t>(visible_.size() - 1);
}

void Runner::compile_block(const std::vector<StmtId>& body, std::vector<Step>& out, uint32_t visible) {
  for (StmtId id : body) compile_statement(file_[id], out, visible);
}

void Runner::compile_statement(const Stmt& s, std::vector<Step>& out, uint32_t& visible) {
  Step step;
  step.stmt = &s;
  step.visible = visible;
  switch (s.kind) {
    case Stmt::Kind::kLet:
      step.kind = Step::Kind::kLet;
      step.slot = s.slot;
      step.a = program_.compile(s.value);
      if (auto c = program_.constant(step.a)) {
        program_.bind(s.slot, *c);
        return;
      }
      visible = show(visible, s.name, s.slot);
      break;
    case Stmt::Kind::kFor: {
      // Several iterators are nested loops, the leftmost outermost.
      std::vector<Step>* at = &out;
      uint32_t inner = visible;
      for (const Iterator& i : s.iterators) {
        Step loop;
        loop.kind = Step::Kind::kLoop;
        loop.stmt = &s;
        loop.iterator = &i;
        loop.visible = inner;
        loop.slot = i.slot;
        loop.a = program_.compile(i.first);
        loop.b = program_.compile(i.last);
        if (i.step.valid()) loop.c = program_.compile(i.step);
        inner = show(inner, i.name, i.slot);
        at->push_back(std::move(loop));
        at = &at->back().body;
      }
      compile_block(s.body, *at, inner);
      return;
    }
    case Stmt::Kind::kIf:
      step.kind = Step::Kind::kIf;
      step.a = program_.compile(s.value);
      if (auto c = program_.constant(step.a)) {
        // The other side is not even compiled: it may not make sense for this number of ranks.
        compile_block(*c != 0 ? s.body : s.otherwise, out, visible);
        return;
      }
      compile_block(s.body, step.body, visible);
      compile_block(s.otherwise, step.otherwise, visible);
      break;
    case Stmt::Kind::kRequire:
      step.kind = Step::Kind::kRequire;
      step.a = program_.compile(s.value);
      break;
    default:
      step.kind = Step::Kind::kLeaf;
      for (const Access& a : s.accesses) {
        CompiledAccess c;
        c.buffer = a.buffer_id;
        c.all = a.rank.all;
        c.source = &a;
        if (!c.all && a.rank.binder == Index::kNoBinder) c.rank = program_.compile(a.rank.first);
        if (a.chunk.binder == Index::kNoBinder) c.first = program_.compile(a.chunk.first);
        if (a.chunk.is_range()) c.last = program_.compile(a.chunk.last);
        step.accesses.push_back(c);
      }
      compile_leaf(step);
  }
  out.push_back(std::move(step));
}

// --- running --------------------------------------------------------------------------------------------------------

// Exact for loops with constant bounds and without conditions; otherwise a bound from below.
Runner::Size Runner::size(const std::vector<Step>& steps) const {
  auto add = [](uint64_t& to, uint64_t by) { to = by > UINT64_MAX - to ? UINT64_MAX : to + by; };
  auto times = [](uint64_t a, uint64_t b) { return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b; };
  Size total;
  for (const Step& s : steps) {
    if (s.kind == Step::Kind::kLeaf) {
      bool range = std::any_of(s.accesses.begin(), s.accesses.end(), [](const auto& a) { return a.last != kNoNode; });
      add(total.leaves, 1);
      add(total.sure, range ? 0 : 1);  // a range may be empty
      add(total.steps, 1);
    } else if (s.kind == Step::Kind::kIf) {
      Size a = size(s.body), b = size(s.otherwise);
      add(total.leaves, std::min(a.leaves, b.leaves));
      add(total.sure, std::min(a.sure, b.sure));
      add(total.steps, std::min(a.steps, b.steps));
    } else if (s.kind == Step::Kind::kLoop) {
      auto first = program_.constant(s.a), last = program_.constant(s.b);
      std::optional<int64_t> by = s.c == kNoNode ? std::optional<int64_t>(1) : program_.constant(s.c);
      if (!first || !last || !by || *by < 1 || *last <= *first) continue;
      uint64_t distance = static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first);
      uint64_t count = (distance - 1) / static_cast<uint64_t>(*by) + 1;
      Size body = size(s.body);
      add(body.steps, 1);
      add(total.leaves, times(count, body.leaves));
      add(total.sure, times(count, body.sure));
      add(total.steps, times(count, body.steps));
    }
  }
  return total;
}

int64_t Runner::value(const Step& s, NodeId n) {
  try {
    return program_.eval(n);
  } catch (const EvalFault& f) {
    current_ = &s;
    tell(f);
    throw Stop{};
  }
}

int64_t Runner::value(const Stmt& s, ExprId e) {
  declaring_ = &s;
  try {
    int64_t v = program_.eval(program_.compile(e));
    declaring_ = nullptr;
    return v;
  } catch (const EvalFault& f) {
    tell(f);
    throw Stop{};
  }
}

void Runner::exec(std::vector<Step>& steps) {
  for (Step& s : steps) {
    switch (s.kind) {
      case Step::Kind::kLet:
        program_.slot(s.slot) = value(s, s.a);
        break;
      case Step::Kind::kLoop:
        exec_loop(s);
        break;
      case Step::Kind::kIf:
        exec(value(s, s.a) != 0 ? s.body : s.otherwise);
        break;
      case Step::Kind::kRequire:
        if (value(s, s.a) == 0) {
          current_ = &s;
          std::string message(s.stmt->message);
          if (message.empty()) message = text(file_[s.stmt->value].span) + " does not hold";
          diagnostics_.error(diag::kRequireFailed, range(s.stmt->span), message + values(),
                             quoted(item_.name) + " requires " + text(file_[s.stmt->value].span));
          throw Stop{};
        }
        break;
      case Step::Kind::kLeaf:
        if (s.refused) break;
        current_ = &s;
        if (!program_.spend()) too_much(s.stmt->span);
        try {
          leaf(s);
        } catch (const EvalFault& f) {
          tell(f);
          s.refused = true;
          if (++refused_ >= kMostRefused || f.fault == Fault::kTooMuch) throw Stop{};
        } catch (const Told&) {
          s.refused = true;
          if (++refused_ >= kMostRefused) throw Stop{};
        }
        break;
    }
  }
}

void Runner::exec_loop(Step& s) {
  int64_t first = value(s, s.a), last = value(s, s.b);
  int64_t by = s.c == kNoNode ? 1 : value(s, s.c);
  if (by < 1) {
    current_ = &s;
    diagnostics_.error(
        diag::kStepNotPositive, range(file_[s.iterator->step].span),
        "the step of " + quoted(s.iterator->name) + " is " + std::to_string(by) + ": loops count upwards" + values(),
        "to count down from n - 1, use `n - 1 - i`");
    throw Stop{};
  }
  int64_t& variable = program_.slot(s.slot);
  for (int64_t i = first; i < last;) {
    if (!program_.spend()) {
      current_ = &s;
      too_much(s.stmt->span);
    }
    variable = i;
    exec(s.body);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
}

Runner::Places Runner::places(const CompiledAccess& a, uint32_t count, bool wraps) {
  int64_t first = program_.eval(a.first);
  if (a.last == kNoNode) {
    if (wraps) return {wrap(first, count), 1};
    if (static_cast<uint64_t>(first) >= count) {
      refuse(diag::kTmpOutOfBounds, a.source->chunk.span,
             text(a.source->span) + " is place " + std::to_string(first) + " of " + std::to_string(count) +
                 ": places of a tmp do not wrap");
    }
    return {static_cast<uint32_t>(first), 1};
  }
  int64_t last = program_.eval(a.last), length = 0;
  if (__builtin_sub_overflow(last, first, &length) || length < 0 || length > count) {
    refuse(diag::kRangeLength, a.source->chunk.span,
           "the range " + std::to_string(first) + " ..< " + std::to_string(last) + " of " + text(a.source->span) +
               " has length " + (length < 0 ? "below 0" : std::to_string(length)) + ": it is 0 to " +
               std::to_string(count) + ", the places that are there",
           length < 0 ? "a range that wraps is written with an end past the last place: `n - 1 ..< n + 1`" : "");
  }
  if (wraps) return {wrap(first, count), static_cast<uint32_t>(length)};
  if (first < 0 || last > count) {
    refuse(diag::kTmpOutOfBounds, a.source->chunk.span,
           text(a.source->span) + " is places " + std::to_string(first) + " ..< " + std::to_string(last) + " of " +
               std::to_string(count) + ": places of a tmp do not wrap");
  }
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(length)};
}

// --- telling --------------------------------------------------------------------------------------------------------

std::string Runner::values() const {
  if (current_ == nullptr) return {};
  std::string out;
  for (uint32_t v = current_->visible; v != 0xffffffffu; v = visible_[v].outer) {
    std::string one = std::string(visible_[v].name) + " = " + std::to_string(program_.slot(visible_[v].slot));
    out = out.empty() ? one : one + ", " + out;
  }
  return out.empty() ? out : ", with " + out;
}

void Runner::refuse(DiagnosticId id, Span span, std::string message, std::string hint) {
  diagnostics_.error(id, range(span), message + values(), std::move(hint));
  throw Told{};
}

void Runner::too_much(Span span) {
  refuse_size(span, "a run takes up to " + std::to_string(program_.max_steps()) +
                        " steps (loop iterations, statements and calls), and this program takes more" + values());
}

void Runner::refuse_size(Span span, std::string message) {
  diagnostics_.error(diag::kTooManyStatements, range(span), std::move(message),
                     "is a bound of a loop larger than meant?");
  throw Stop{};
}

std::string Runner::amount(uint64_t count, const char* of) {
  constexpr uint64_t kReadable = 1'000'000'000'000'000'000;
  return count > kReadable ? std::string("more than 10^18 ") + of : "at least " + std::to_string(count) + " " + of;
}

void Runner::tell(const EvalFault& f) {
  const Expr& e = file_[f.expr];
  std::string seen = text(e.span);
  std::string a = std::to_string(f.a), b = std::to_string(f.b);
  DiagnosticId id = diag::kOverflow;
  std::string message, hint;
  switch (f.fault) {
    case Fault::kNone:
    case Fault::kOverflow:
      message = seen + " does not fit in 64 bits: its operands are " + a +
                (e.kind == Expr::Kind::kUnary ? std::string() : " and " + b);
      break;
    case Fault::kDivisionByZero:
      id = diag::kDivisionByZero;
      message = seen + " divides " + a + " by zero";
      break;
    case Fault::kDomain:
      id = diag::kFunctionDomain;
      message = seen + " has the argument " + a + ": " +
                (e.name == "log2" ? "log2 is for numbers from 1" : "pow2 is for numbers from 0 to 62");
      break;
    case Fault::kNodesDiffer:
      id = diag::kNodesDiffer;
      message = "`local` has no value here: the nodes have different numbers of ranks";
      hint = "`local(node)` is the number of ranks of one node";
      break;
    case Fault::kNode:
      id = diag::kNodeOutOfRange;
      message = seen + " names node " + a + ": nodes do not wrap, and there are `nodes` of them, from 0";
      break;
    case Fault::kIndex:
      id = diag::kIndexOutOfRange;
      message = seen + " asks for rank " + b + " of node " + a + ", which has fewer: indices in a node do not wrap";
      hint = "`index % local(node)` wraps";
      break;
    case Fault::kCallTooDeep:
      id = diag::kCallTooDeep;
      message = seen + " calls itself too often: the recursion does not end, or is very deep";
      break;
    case Fault::kTooMuch:
      id = diag::kTooManyStatements;
      message = "more than " + a + " calls of functions: this compiler makes no more for so few statements";
      hint = "a function that calls itself twice doubles its work with each level";
      break;
  }
  Diagnostic& d = diagnostics_.error(id, range(e.span), message + values(), hint);
  const Stmt* user = declaring_ != nullptr ? declaring_ : current_ != nullptr ? current_->stmt : nullptr;
  if (user != nullptr && (e.span.begin < user->span.begin || e.span.begin >= user->span.end))
    d.notes.push_back({range(user->span), "called from here"});
}

}  // namespace coll::dsl
