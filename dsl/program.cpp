#include "dsl/program.h"

#include <algorithm>
#include <numeric>

#include "ir/support/check.h"

namespace coll::dsl {

namespace {

using namespace ast;

// Sum of the heights of all functions being called: bounds the C++ stack that evaluation takes.
constexpr uint32_t kMaxDepth = 4000;
constexpr size_t kCallStack = size_t{1} << 17;  // slots

// Calls: about a second of work, and some for each other step. So a function that branches without end is stopped soon,
// and a program of many statements may call a few functions in each of them.
constexpr uint64_t kFreeCalls = uint64_t{1} << 25;
constexpr uint64_t kCallsPerStep = 32;

}  // namespace

World World::make(uint32_t ranks, const MachineView& machine) {
  World w;
  w.ranks = ranks;
  w.node_sizes = machine.node_sizes;
  if (w.node_sizes.empty()) w.node_sizes = {ranks};
  for (uint32_t n = 0; n < w.node_sizes.size(); ++n) {
    w.node_first.push_back(static_cast<uint32_t>(w.node_of.size()));
    w.node_of.insert(w.node_of.end(), w.node_sizes[n], n);
  }
  COLL_CHECK(w.node_of.size() == ranks, "the nodes hold all ranks");
  bool equal = std::all_of(w.node_sizes.begin(), w.node_sizes.end(), [&](uint32_t s) { return s == w.node_sizes[0]; });
  if (equal) w.local = w.node_sizes[0];
  return w;
}

Program::Program(const File& file, const World& world, uint64_t max_steps)
    : file_(file), world_(world), functions_(file.items.size()), max_steps_(max_steps) {}

void Program::enter(uint32_t slots) {
  bound_.assign(slots, 0);
  bound_value_.assign(slots, 0);
  stack_.assign(slots + kCallStack, 0);
  frame_ = stack_.data();
  top_ = slots;
}

void Program::bind(uint32_t slot, int64_t value) {
  bound_[slot] = 1;
  bound_value_[slot] = value;
  frame_[slot] = value;
}

// --- compiling ------------------------------------------------------------------------------------------------------

NodeId Program::compile(ExprId id) {
  NodeId n = compile_tree(id);
  while (!pending_.empty()) {
    uint32_t function = pending_.back();
    pending_.pop_back();
    compile_function(function);
  }
  return n;
}

NodeId Program::constant_node(int64_t value, ExprId expr) {
  Node n;
  n.value = value;
  n.expr = expr;
  return add(n);
}

void Program::note_height(ExprId e) {
  if (in_function_ != nullptr) in_function_->height = std::max<uint32_t>(in_function_->height, file_[e].height);
}

NodeId Program::compile_tree(ExprId id) {
  note_height(id);
  const Expr& e = file_[id];
  switch (e.kind) {
    case Expr::Kind::kNumber:
      return constant_node(e.number, id);
    case Expr::Kind::kName:
      return compile_name(id);
    case Expr::Kind::kCall:
      return compile_call(id);
    case Expr::Kind::kBinary:
      return compile_binary(id);
    case Expr::Kind::kUnary: {
      Node n;
      n.code = Code::kUnary;
      n.op = e.op;
      n.a = compile_tree(e.a);
      n.expr = id;
      if (auto a = constant(n.a)) {
        int64_t out = 0;
        if (apply(e.op, *a, 0, out) == Fault::kNone) return constant_node(out, id);
      }
      return add(n);
    }
    case Expr::Kind::kSelect: {
      NodeId condition = compile_tree(e.a);
      if (auto c = constant(condition)) return compile_tree(*c != 0 ? e.b : e.c);
      Node n;
      n.code = Code::kSelect;
      n.a = condition;
      n.b = compile_tree(e.b);
      n.c = compile_tree(e.c);
      n.expr = id;
      return add(n);
    }
  }
  COLL_CHECK(false, "every kind of expression compiles");
}

NodeId Program::compile_name(ExprId id) {
  const Expr& e = file_[id];
  if (e.refers == Expr::Refers::kSlot) {
    if (in_function_ == nullptr && bound_[e.target]) return constant_node(bound_value_[e.target], id);
    Node n;
    n.code = Code::kSlot;
    n.a = e.target;
    n.expr = id;
    return add(n);
  }
  COLL_CHECK(e.refers == Expr::Refers::kGiven, "the checker resolved every name");
  switch (static_cast<Given>(e.target)) {
    case Given::kRanks:
      return constant_node(world_.ranks, id);
    case Given::kNodes:
      return constant_node(static_cast<int64_t>(world_.node_sizes.size()), id);
    case Given::kRoot:
    case Given::kSrc:
      return constant_node(world_.root, id);
    case Given::kDst:
      return constant_node(world_.dst, id);
    case Given::kTrue:
      return constant_node(1, id);
    case Given::kFalse:
      return constant_node(0, id);
    case Given::kLocal:
      break;
  }
  if (world_.local) return constant_node(*world_.local, id);
  Node n;
  n.code = Code::kFault;
  n.value = static_cast<int64_t>(Fault::kNodesDiffer);
  n.expr = id;
  return add(n);
}

NodeId Program::compile_binary(ExprId id) {
  const Expr& e = file_[id];
  Node n;
  n.expr = id;
  n.op = e.op;
  n.a = compile_tree(e.a);
  if (e.op == Op::kAnd || e.op == Op::kOr) {
    if (auto a = constant(n.a)) {
      if ((*a != 0) == (e.op == Op::kOr)) return constant_node(e.op == Op::kOr, id);
      return compile_tree(e.b);
    }
    n.code = e.op == Op::kAnd ? Code::kAnd : Code::kOr;
    n.b = compile_tree(e.b);
    return add(n);
  }
  n.b = compile_tree(e.b);
  auto a = constant(n.a), b = constant(n.b);
  if (a && b) {
    int64_t out = 0;
    if (apply(e.op, *a, *b, out) == Fault::kNone) return constant_node(out, id);
  }
  n.code = Code::kBinary;
  bool a_slot = nodes_[n.a].code == Code::kSlot, b_slot = nodes_[n.b].code == Code::kSlot;
  Node fast = n;
  if (e.op == Op::kAdd && a_slot && b_slot) {
    fast.code = Code::kSlotPlusSlot;
    fast.a = nodes_[n.a].a, fast.b = nodes_[n.b].a;
    return add(fast);
  }
  if (e.op == Op::kSub && a_slot && b_slot) {
    fast.code = Code::kSlotMinusSlot;
    fast.a = nodes_[n.a].a, fast.b = nodes_[n.b].a;
    return add(fast);
  }
  bool negatable = b && *b != INT64_MIN;
  if ((e.op == Op::kAdd || (e.op == Op::kSub && negatable)) && a_slot && b) {
    fast.code = Code::kSlotPlusConst;
    fast.a = nodes_[n.a].a;
    fast.value = e.op == Op::kAdd ? *b : -*b;
    return add(fast);
  }
  return add(n);
}

// Built-in functions of constants, where they have a value.
NodeId Program::fold(Node n) {
  auto a = constant(n.a);
  bool two = n.code == Code::kMin || n.code == Code::kMax || n.code == Code::kRank;
  std::optional<int64_t> b = two ? constant(n.b) : std::optional<int64_t>(0);
  NodeId id = add(n);
  if (!a || !b) return id;
  try {
    int64_t value = eval_slow(id);
    return constant_node(value, n.expr);
  } catch (const EvalFault&) {
    return id;  // told when, and if, it is evaluated
  }
}

NodeId Program::compile_call(ExprId id) {
  const Expr& e = file_[id];
  if (e.refers == Expr::Refers::kFunction) {
    if (!functions_[e.target].pending) {
      functions_[e.target].pending = true;
      pending_.push_back(e.target);
    }
    Node n;
    n.code = Code::kCall;
    n.a = e.target;
    n.expr = id;
    std::vector<NodeId> arguments;
    for (ExprId a : e.arguments) arguments.push_back(compile_tree(a));
    n.b = static_cast<uint32_t>(call_arguments_.size());
    n.c = static_cast<uint32_t>(arguments.size());
    call_arguments_.insert(call_arguments_.end(), arguments.begin(), arguments.end());
    return add(n);
  }
  Node n;
  n.expr = id;
  switch (static_cast<Builtin>(e.target)) {
    case Builtin::kNode:
      n.code = Code::kNode;
      break;
    case Builtin::kIndex:
      n.code = Code::kIndex;
      break;
    case Builtin::kRank:
      n.code = Code::kRank;
      break;
    case Builtin::kLocal:
      n.code = Code::kLocalOf;
      break;
    case Builtin::kMin:
      n.code = Code::kMin;
      break;
    case Builtin::kMax:
      n.code = Code::kMax;
      break;
    case Builtin::kLog2:
      n.code = Code::kLog2;
      break;
    case Builtin::kPow2:
      n.code = Code::kPow2;
      break;
  }
  n.a = compile_tree(e.arguments[0]);
  if (e.arguments.size() == 1) return fold(n);
  for (size_t i = 1; i < e.arguments.size(); ++i) {
    n.b = compile_tree(e.arguments[i]);
    n.a = fold(n);
  }
  return n.a;
}

void Program::compile_function(uint32_t item) {
  Function& f = functions_[item];
  f.slots = file_.items[item].slots;
  in_function_ = &f;
  const Item& it = file_.items[item];
  f.body = it.value.valid() ? compile_tree(it.value) : compile_body(it.body, kNoNode);
  in_function_ = nullptr;
}

// A function's block as one expression: back to front, each statement with what follows it as its continuation.
NodeId Program::compile_body(const std::vector<StmtId>& body, NodeId then) {
  for (auto it = body.rbegin(); it != body.rend(); ++it) {
    const Stmt& s = file_[*it];
    Node n;
    n.expr = s.value;
    n.a = compile_tree(s.value);
    if (s.kind == Stmt::Kind::kReturn) {
      then = n.a;
      continue;
    }
    if (s.kind == Stmt::Kind::kLet) {
      n.code = Code::kLet;
      n.b = then;
      n.c = s.slot;
    } else {
      n.code = Code::kSelect;
      n.b = compile_body(s.body, then);
      n.c = compile_body(s.otherwise, then);
    }
    then = add(n);
  }
  return then;
}

// --- evaluating -----------------------------------------------------------------------------------------------------

int64_t Program::eval_slow(NodeId id) {
  for (;;) {
    const Node& n = nodes_[id];
    int64_t out = 0;
    switch (n.code) {
      case Code::kConst:
        return n.value;
      case Code::kSlot:
        return frame_[n.a];
      case Code::kSlotPlusConst:
        if (__builtin_add_overflow(frame_[n.a], n.value, &out)) fault(Fault::kOverflow, n, frame_[n.a], n.value);
        return out;
      case Code::kSlotPlusSlot:
        if (__builtin_add_overflow(frame_[n.a], frame_[n.b], &out))
          fault(Fault::kOverflow, n, frame_[n.a], frame_[n.b]);
        return out;
      case Code::kSlotMinusSlot:
        if (__builtin_sub_overflow(frame_[n.a], frame_[n.b], &out))
          fault(Fault::kOverflow, n, frame_[n.a], frame_[n.b]);
        return out;
      case Code::kBinary: {
        int64_t a = eval(n.a), b = eval(n.b);
        Fault f = apply(n.op, a, b, out);
        if (f != Fault::kNone) fault(f, n, a, b);
        return out;
      }
      case Code::kUnary: {
        int64_t a = eval(n.a);
        Fault f = apply(n.op, a, 0, out);
        if (f != Fault::kNone) fault(f, n, a);
        return out;
      }
      case Code::kAnd:
        if (eval(n.a) == 0) return 0;
        id = n.b;
        continue;
      case Code::kOr:
        if (eval(n.a) != 0) return 1;
        id = n.b;
        continue;
      case Code::kSelect:
        id = eval(n.a) != 0 ? n.b : n.c;
        continue;
      case Code::kLet:
        frame_[n.c] = eval(n.a);
        id = n.b;
        continue;
      case Code::kCall:
        return eval_call(n);
      case Code::kNode:
        return world_.node_of[static_cast<size_t>(floor_mod(eval(n.a), world_.ranks))];
      case Code::kIndex: {
        int64_t r = floor_mod(eval(n.a), world_.ranks);
        return r - world_.node_first[world_.node_of[static_cast<size_t>(r)]];
      }
      case Code::kRank: {
        int64_t node = eval(n.a), index = eval(n.b);
        if (node < 0 || node >= static_cast<int64_t>(world_.node_sizes.size())) fault(Fault::kNode, n, node, index);
        if (index < 0 || index >= world_.node_sizes[static_cast<size_t>(node)]) fault(Fault::kIndex, n, node, index);
        return world_.node_first[static_cast<size_t>(node)] + index;
      }
      case Code::kLocalOf: {
        int64_t node = eval(n.a);
        if (node < 0 || node >= static_cast<int64_t>(world_.node_sizes.size())) fault(Fault::kNode, n, node);
        return world_.node_sizes[static_cast<size_t>(node)];
      }
      case Code::kMin:
        return std::min(eval(n.a), eval(n.b));
      case Code::kMax:
        return std::max(eval(n.a), eval(n.b));
      case Code::kLog2:
      case Code::kPow2: {
        int64_t a = eval(n.a);
        Fault f = n.code == Code::kLog2 ? apply_log2(a, out) : apply_pow2(a, out);
        if (f != Fault::kNone) fault(f, n, a);
        return out;
      }
      case Code::kFault:
        fault(static_cast<Fault>(n.value), n);
    }
  }
}

int64_t Program::eval_call(const Node& n) {
  const Function& f = functions_[n.a];
  if (depth_ + f.height + 4 > kMaxDepth || top_ + f.slots > stack_.size()) fault(Fault::kCallTooDeep, n);
  ++calls_;
  if (!spend() || calls_ > kFreeCalls + kCallsPerStep * (steps_ - calls_)) {
    fault(Fault::kTooMuch, n, static_cast<int64_t>(calls_ - 1));
  }
  // Arguments are evaluated in the caller's frame, above which the new one is reserved already.
  int64_t* fresh = stack_.data() + top_;
  int64_t* caller = frame_;
  size_t old_top = top_;
  top_ += f.slots;
  depth_ += f.height + 4;
  // A fault unwinds to the elaborator, which goes on with the next statement: put things back then, too.
  struct Restore {
    Program& p;
    int64_t* frame;
    size_t top;
    uint32_t height;
    ~Restore() {
      p.frame_ = frame;
      p.top_ = top;
      p.depth_ -= height;
    }
  } restore{*this, caller, old_top, f.height + 4};
  for (uint32_t i = 0; i < n.c; ++i) fresh[i] = eval(call_arguments_[n.b + i]);
  frame_ = fresh;
  return eval(f.body);
}

}  // namespace coll::dsl
