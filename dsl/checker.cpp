// Variables and functions are two name spaces, and inner blocks may use a name again; one block may not. What the
// language gives (`ranks`, `min`) cannot be declared in either: a reader could not tell which is meant. The price is
// that a later built-in can break a program; it is told, and renaming mends it.
//
// What did not parse is no excuse for the rest: all other statements are checked. Names in faulty text may have been
// declared by it; they are taken for variables of unknown kind, and nothing is told of them.
//
// Functions see only their parameters and what the machine gives (ranks, nodes, local): neither an algorithm's
// parameters nor its root. So a function means the same wherever it is called.
#include "dsl/checker.h"

#include <algorithm>
#include <string>

#include "dsl/arithmetic.h"
#include "dsl/diagnostics.h"
#include "dsl/expression_checker.h"
#include "ir/schedule.h"

namespace coll::dsl {

namespace {

using namespace ast;

const char* statement_name(Stmt::Kind k) {
  switch (k) {
    case Stmt::Kind::kTransfer:
      return "a transfer";
    case Stmt::Kind::kLet:
      return "`let`";
    case Stmt::Kind::kFor:
      return "`for`";
    case Stmt::Kind::kIf:
      return "`if`";
    case Stmt::Kind::kRequire:
      return "`require`";
    case Stmt::Kind::kReturn:
      return "`return`";
    case Stmt::Kind::kEnsure:
      return "`ensure`";
    case Stmt::Kind::kChunks:
      return "`chunks`";
    case Stmt::Kind::kTmp:
      return "`tmp`";
    case Stmt::Kind::kInstances:
      return "`instances`";
    case Stmt::Kind::kHintLine:
      return "a hint line";
    case Stmt::Kind::kFaulty:
      break;
  }
  return "?";
}

bool belongs(Stmt::Kind s, Item::Kind item) {
  using K = Stmt::Kind;
  if (s == K::kLet || s == K::kIf || s == K::kFaulty) return true;
  switch (item) {
    case Item::Kind::kAlgorithm:
      return s != K::kReturn && s != K::kEnsure;
    case Item::Kind::kCollective:
      return s == K::kFor || s == K::kRequire || s == K::kEnsure || s == K::kChunks;
    case Item::Kind::kFunction:
      return s == K::kReturn;
  }
  return false;
}

class Checker : private ExpressionChecker {
 public:
  Checker(File& file, Diagnostics& diagnostics) : ExpressionChecker(file, diagnostics) {}

  void run() {
    index_items();
    states_.assign(file_.items.size(), State::kNew);
    for (uint32_t i = 0; i < file_.items.size(); ++i)
      if (file_.items[i].kind == Item::Kind::kFunction) check_function(i);
    for (Item& item : file_.items)
      if (item.kind != Item::Kind::kFunction) check_item(item);
  }

 private:
  void index_items() {
    lost_.insert(file_.lost.begin(), file_.lost.end());
    for (uint32_t i = 0; i < file_.items.size(); ++i) {
      Item& item = file_.items[i];
      if (item.name.empty()) continue;
      auto& map = items_[static_cast<size_t>(item.kind)];
      auto [it, fresh] = map.emplace(item.name, i);
      if (!fresh) {
        frame_.item = &item;
        error(diag::kDuplicateItem, item.name_span,
              quoted(item.name) + " is the name of " + kind_name(item.kind) + " already: names differ within a file")
            .notes.push_back({file_.range(file_.items[it->second].name_span), "first here"});
      } else if (item.kind == Item::Kind::kCollective && parse_contract_kind(item.name)) {
        frame_.item = &item;
        error(diag::kDuplicateItem, item.name_span,
              quoted(item.name) + " is a built-in collective: choose another name");
      } else if (item.kind == Item::Kind::kFunction) {
        frame_.item = &item;
        refuse_given(item.name, item.name_span, "function");
      }
    }
    frame_.item = nullptr;
  }

  // --- items --------------------------------------------------------------------------------------------------------

  void parameters(Item& item) {
    for (Parameter& p : item.parameters) declare(p.name, p.span, Type::kNumber);
    for (std::string_view n : item.lost) declare_lost(n);
  }

  void check_function(uint32_t index) override {
    Item& item = file_.items[index];
    if (states_[index] != State::kNew) return;
    states_[index] = State::kRunning;
    Frame saved = std::move(frame_);
    frame_ = Frame{};
    frame_.item = &item;
    if (++function_depth_ > 100) {
      error(diag::kNestedTooDeep, item.name_span, "functions use each other more than 100 deep");
    } else {
      push_block();
      parameters(item);
      if (item.value.valid()) {
        frame_.returns = check(item.value);
      } else {
        if (!block(item.body, 1) && item.parsed)
          error(diag::kMissingReturn, item.name_span,
                "function " + quoted(item.name) + " can end without a value: every path ends with `return`");
      }
      pop_block();
      item.type = frame_.returns.value_or(item.parsed ? Type::kNumber : Type::kUnknown);
      // A call of itself was taken for a number.
      if (item.type == Type::kCondition && self_called_.contains(index))
        error(diag::kMixedKinds, item.name_span, "a function that calls itself returns a number");
    }
    --function_depth_;
    states_[index] = State::kDone;
    frame_ = std::move(saved);
  }

  void check_item(Item& item) {
    frame_ = Frame{};
    frame_.item = &item;
    push_block();
    for (Parameter& p : item.parameters) {
      if (p.value.valid() && !constant(p.value, p.default_value))
        error(diag::kDefaultNotConstant, file_[p.value].span,
              "the default of " + quoted(p.name) + " is not a constant: it is known before ranks and machine are",
              "a number, or arithmetic on numbers; 0 can stand for `choose`, and a `let` can choose");
    }
    if (item.kind == Item::Kind::kAlgorithm) find_contract(item);
    parameters(item);
    if (item.kind == Item::Kind::kAlgorithm) contract(item);
    block(item.body, 1);
    if (item.kind == Item::Kind::kCollective && !frame_.has_chunks && item.parsed)
      error(diag::kMissingChunks, item.name_span,
            "collective " + quoted(item.name) + " does not say how many blocks each rank has",
            "`chunks in 1, out ranks`, for example");
    pop_block();
    frame_ = Frame{};
  }

  bool constant(ExprId id, int64_t& out) {
    const Expr& e = file_[id];
    int64_t a = 0, b = 0;
    switch (e.kind) {
      case Expr::Kind::kNumber:
        return out = e.number, true;
      case Expr::Kind::kUnary:
        return constant(e.a, a) && apply(e.op, a, 0, out) == Fault::kNone;
      case Expr::Kind::kBinary:
        return constant(e.a, a) && constant(e.b, b) && apply(e.op, a, b, out) == Fault::kNone;
      default:
        return false;
    }
  }

  // Before all else: it decides whether `root` is given.
  void find_contract(Item& item) {
    item.builtin = parse_contract_kind(item.contract);
    if (item.builtin) return;
    auto found = find(Item::Kind::kCollective, item.contract);
    if (found) item.collective = *found;
    frame_.contract_unknown = !found;
  }

  void contract(Item& item) {
    for (ExprId a : item.contract_arguments) expect_number(a);
    if (item.contract.empty() || !item.lost.empty()) return;  // the head is told already
    size_t seen = item.contract_arguments.size();
    if (item.builtin) {
      Contract c;
      c.kind = *item.builtin;
      size_t most = c.kind == ContractKind::kSendRecv ? 2 : c.has_root() ? 1 : 0;
      if (seen != 0 && seen != most)
        wrong_count(diag::kContractArguments, item.contract_span, item.contract, seen, most, most);
    } else if (!frame_.contract_unknown) {
      const Item& collective = file_.items[item.collective];
      size_t wanted = collective.parameters.size();
      if (!collective.sound) item.sound = false;
      if (seen != wanted && collective.lost.empty())
        wrong_count(diag::kContractArguments, item.contract_span, item.contract, seen, wanted, wanted);
    } else if (!lost_.contains(item.contract)) {
      std::vector<std::string> names = contract_names();
      for (const Item& i : file_.items)
        if (i.kind == Item::Kind::kCollective) names.emplace_back(i.name);
      error(diag::kUnknownCollective, item.contract_span, "unknown collective " + quoted(item.contract),
            did_you_mean(item.contract, names, diagnostics_));
    }
  }

  // --- statements ---------------------------------------------------------------------------------------------------

  // True if every path through it returns.
  bool block(const std::vector<StmtId>& body, int depth) {
    push_block();
    bool returned = false, told = false;
    for (StmtId id : body) {
      if (returned && !told && !frame_.item->braces_lost) {
        error(diag::kUnreachable, file_[id].span, "this is never reached: the statement before it returns");
        told = true;
      }
      returned |= statement(file_[id], depth);
    }
    pop_block();
    return returned;
  }

  bool statement(Stmt& s, int depth) {
    using K = Stmt::Kind;
    Item& item = *frame_.item;
    if (!belongs(s.kind, item.kind)) {
      error(diag::kWrongPlace, s.span, std::string(statement_name(s.kind)) + " cannot stand in " + kind_name(item.kind),
            item.kind == Item::Kind::kFunction     ? "a function consists of let, if and return"
            : item.kind == Item::Kind::kCollective ? "a collective consists of chunks, ensure, let, for, if and require"
            : s.kind == K::kReturn                 ? "only functions return"
                                                   : "what must hold is said in a collective");
      return false;
    }
    bool declares = s.kind == K::kChunks || s.kind == K::kTmp || s.kind == K::kInstances || s.kind == K::kHintLine;
    if (declares && depth > 1 && !item.braces_lost) {
      error(diag::kNestedDeclaration, s.span,
            std::string(statement_name(s.kind)) + " stands inside a block: it holds for the whole " +
                (item.kind == Item::Kind::kAlgorithm ? "algorithm" : "collective") + " and stands in its body itself");
    }
    if (declares && s.kind != K::kTmp && frame_.moved && !item.braces_lost) {
      error(diag::kLateDeclaration, s.span,
            std::string(statement_name(s.kind)) +
                " comes after a statement that moves data: it holds for all of them "
                "and stands before the first");
    }
    switch (s.kind) {
      case K::kTransfer:
        transfer(s);
        break;
      case K::kLet: {
        Type type = check(s.value);
        s.slot = declare(s.name, s.name_span, type);
        break;
      }
      case K::kFor:
        push_block();
        for (Iterator& i : s.iterators) {
          expect_number(i.first);
          expect_number(i.last);
          if (i.step.valid()) expect_number(i.step);
          i.slot = declare(i.name, i.name_span, Type::kNumber);
        }
        block(s.body, depth + 1);
        pop_block();
        break;
      case K::kIf: {
        expect_condition(s.value);
        bool a = block(s.body, depth + 1);
        bool b = block(s.otherwise, depth + 1);
        return a && b && !s.otherwise.empty();
      }
      case K::kRequire:
        expect_condition(s.value);
        break;
      case K::kReturn: {
        Type type = check(s.value);
        if (frame_.returns && differ(*frame_.returns, type))
          error(diag::kMixedKinds, s.span, "one `return` gives a number, another one a condition");
        if (!frame_.returns || type != Type::kUnknown) frame_.returns = type;
        return true;
      }
      case K::kEnsure:
        ensure(s);
        break;
      case K::kChunks:
        chunks(s);
        break;
      case K::kTmp:
        declare_tmp(s);
        break;
      case K::kInstances:
        if (frame_.has_instances) error(diag::kDuplicateDeclaration, s.span, "`instances` is said twice");
        frame_.has_instances = true;
        expect_number(s.value);
        break;
      case K::kHintLine:
        hints(s.hints, frame_.hint_lines);
        break;
      case K::kFaulty:
        for (std::string_view n : s.lost) declare_lost(n);
        break;
    }
    return false;
  }

  void chunks(Stmt& s) {
    bool pair = s.second.valid();
    if (pair != (frame_.item->kind == Item::Kind::kCollective)) {
      error(diag::kChunksForm, s.span,
            pair ? "an algorithm says into how many parts each block is cut: `chunks k`"
                 : "a collective says the blocks of both sides: `chunks in A, out B`");
    }
    if (frame_.has_chunks) error(diag::kDuplicateDeclaration, s.span, "`chunks` is said twice");
    frame_.has_chunks = true;
    expect_number(s.value);
    if (pair) expect_number(s.second);
  }

  void declare_tmp(Stmt& s) {
    expect_number(s.value);
    s.slot = static_cast<uint32_t>(frame_.tmp_names.size());
    auto [it, fresh] = frame_.tmps.emplace(s.name, Binding{s.slot, 0, Type::kNumber, s.name_span});
    if (!fresh) {
      error(diag::kDuplicateName, s.name_span, "the scratch buffer " + quoted(s.name) + " is declared twice")
          .notes.push_back({file_.range(it->second.span), "first here"});
    }
    if (frame_.tmp_names.size() >= 60000) error(diag::kTmpSize, s.span, "more than 60000 scratch buffers");
    frame_.tmp_names.emplace_back(s.name);
  }

  // Words and repetitions; `seen` are the hints of the same statement or of the lines before.
  void hints(std::vector<HintItem>& list, std::vector<HintItem>& seen) {
    for (HintItem& h : list) {
      if (std::any_of(seen.begin(), seen.end(), [&](const HintItem& o) { return o.kind == h.kind; }))
        error(diag::kDuplicateHint, h.span,
              "the hint " + quoted(file_.text(h.span)) + " repeats an earlier one of its kind");
      seen.push_back(h);
      if (h.value.valid()) expect_number(h.value);
      if (h.kind == HintItem::Kind::kProtocol) word(h, diag::kUnknownProtocol, "protocol", {"ll", "ll128", "simple"});
      if (h.kind == HintItem::Kind::kWire) word(h, diag::kUnknownWire, "wire type", {"bf16", "f16", "f8e4m3"});
    }
  }

  void word(const HintItem& h, DiagnosticId id, const char* what, const std::vector<std::string>& allowed) {
    if (std::find(allowed.begin(), allowed.end(), h.word) != allowed.end()) return;
    std::string list;
    for (const std::string& a : allowed) list += (list.empty() ? "" : ", ") + a;
    error(id, h.span, std::string("unknown ") + what + " " + quoted(h.word) + ": it is one of " + list,
          did_you_mean(h.word, allowed, diagnostics_));
  }

  // --- places -------------------------------------------------------------------------------------------------------

  void buffer(Access& a) {
    if (a.buffer == "buf") {
      a.buffer_id = buffers::kBuf;
    } else if (a.buffer == "in") {
      a.buffer_id = buffers::kIn;
    } else if (a.buffer == "out") {
      a.buffer_id = buffers::kOut;
    } else if (auto it = frame_.tmps.find(a.buffer); it != frame_.tmps.end()) {
      a.buffer_id = buffers::kFirstTmp + it->second.slot;
    } else if (const Binding* b = lookup(a.buffer); b == nullptr || !b->lost) {
      std::vector<std::string> names = frame_.tmp_names;
      for (const char* n : {"buf", "in", "out"}) names.emplace_back(n);
      std::string hint = did_you_mean(a.buffer, names, diagnostics_);
      error(diag::kUnknownBuffer, a.buffer_span, "unknown buffer " + quoted(a.buffer),
            hint.empty() ? "scratch is declared: `tmp " + std::string(a.buffer) + "[places]`" : hint);
    }
  }

  void rank_index(Index& i) {
    if (i.is_range()) {
      error(diag::kRangeAsRank, i.span, "a range of ranks: a place is on one rank, or on `all`",
            "write a loop over the ranks");
    } else if (const Expr& e = file_[i.first]; e.kind == Expr::Kind::kName && e.name == "all") {
      i.all = true;
    } else {
      expect_number(i.first);
    }
  }

  void chunk_index(Index& i) {
    expect_number(i.first);
    if (i.is_range()) expect_number(i.last);
  }

  void transfer(Stmt& s) {
    frame_.moved = true;
    for (Access& a : s.accesses) {
      buffer(a);
      rank_index(a.rank);
      chunk_index(a.chunk);
    }
    Access& dst = s.accesses[0];
    if (dst.buffer == "in") {
      error(diag::kReadOnlyIn, dst.span, "`in` is only read: the caller's input stays as it is",
            "write to `buf`, `out` or a `tmp`");
    }
    if (dst.rank.all && (s.accumulates || s.reduces)) {
      error(diag::kAllAccumulated, dst.span,
            "a place on all ranks is only written by a plain copy: `buf[all][c] = buf[r][c]`",
            "reduce on one rank first, then copy to all");
    }
    for (size_t i = 1; i < s.accesses.size(); ++i) {
      Access& source = s.accesses[i];
      if (!source.rank.all) continue;
      if (!s.reduces) {
        error(diag::kAllAsSource, source.span, "the places of all ranks are read only to be reduced",
              "`= reduce(" + std::string(file_.text(source.span)) + ")`");
      } else if (s.accesses.size() > 2 || s.accumulates) {
        error(diag::kAllWithOthers, source.span,
              "a reduction over all ranks stands alone: `x = reduce(buf[all][c])`, without other operands",
              "add the others in a second statement");
      }
    }
    std::vector<HintItem> seen;
    hints(s.hints, seen);
  }

  // `ensure out[r][c] == ...`: a free name as an index of `out` runs over all ranks, or all blocks.
  void bind(Index& i) {
    if (i.is_range()) return;
    const Expr& e = file_[i.first];
    if (e.kind != Expr::Kind::kName || lookup(e.name) != nullptr || is_given(e.name)) return;
    i.binder = declare(e.name, e.span, Type::kNumber);
  }

  void ensure(Stmt& s) {
    push_block();
    Access& dst = s.accesses[0];
    bind(dst.rank);
    bind(dst.chunk);
    for (size_t i = 0; i < s.accesses.size(); ++i) {
      Access& a = s.accesses[i];
      const char* wanted = i == 0 ? "out" : "in";
      a.buffer_id = i == 0 ? buffers::kOut : buffers::kIn;
      if (a.buffer != wanted) {
        error(diag::kEnsureBuffer, a.buffer_span,
              "a promise says what `out` holds, in terms of `in`: expected `" + std::string(wanted) + "`, found " +
                  quoted(a.buffer));
      }
      rank_index(a.rank);
      chunk_index(a.chunk);
      if (a.rank.all && i == 0)
        error(diag::kEnsureBuffer, a.rank.span, "`out[all]`: a free name stands for every rank",
              "`ensure out[r][...] == ...`");
      if (a.rank.all && i > 0 && !s.reduces)
        error(diag::kAllAsSource, a.span, "the places of all ranks are named only in a reduction",
              "`== reduce(" + std::string(file_.text(a.span)) + ")`");
    }
    pop_block();
  }

  int function_depth_ = 0;
};

}  // namespace

void check(File& file, Diagnostics& diagnostics) { Checker(file, diagnostics).run(); }

}  // namespace coll::dsl
