#pragma once
// Expressions made fast: names become slots or constants, constants are folded, and what is left is a flat table of
// small nodes that refer to each other by index. A statement's place costs a few nanoseconds.
//
// A tree of nodes was preferred to bytecode: typical indices (`r + 1`, `r - s`, `c`) are one node here, since sums of
// a variable with a constant or a variable are nodes of their own; with a stack machine they are three dispatches.
#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/arithmetic.h"
#include "dsl/ast.h"
#include "ir/machine_view.h"

namespace coll::dsl {

// What an expression may know besides its variables.
struct World {
  uint32_t ranks = 1;
  uint32_t root = 0, dst = 0;
  std::vector<uint32_t> node_sizes;  // never empty
  std::vector<uint32_t> node_first;  // first rank of each node
  std::vector<uint32_t> node_of;     // by rank
  std::optional<uint32_t> local;     // ranks per node, where all nodes are equal

  static World make(uint32_t ranks, const MachineView&);
};

// Thrown by the evaluation of an expression; the elaborator makes a diagnostic of it.
struct EvalFault {
  Fault fault;
  ast::ExprId expr;
  int64_t a = 0, b = 0;  // operands
};

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = 0xffffffffu;

class Program {
 public:
  Program(const ast::File& file, const World& world, uint64_t max_steps);

  // A frame of `slots` variables for the item that is run. Before any compile.
  void enter(uint32_t slots);

  // The variable has this value from now on, everywhere: its uses compile to a constant.
  void bind(uint32_t slot, int64_t value);

  NodeId compile(ast::ExprId);
  std::optional<int64_t> constant(NodeId n) const {
    if (nodes_[n].code == Code::kConst) return nodes_[n].value;
    return std::nullopt;
  }

  int64_t eval(NodeId n) {
    const Node& node = nodes_[n];
    if (node.code == Code::kConst) return node.value;
    if (node.code == Code::kSlot) return frame_[node.a];
    return eval_slow(n);
  }

  int64_t& slot(uint32_t s) { return frame_[s]; }

  // One step of work: a loop iteration, a statement or a call.
  bool spend() { return ++steps_ <= max_steps_; }
  uint64_t steps_left() const { return steps_ < max_steps_ ? max_steps_ - steps_ : 0; }
  uint64_t max_steps() const { return max_steps_; }

 private:
  enum class Code : uint8_t {
    kConst,
    kSlot,
    kSlotPlusConst,
    kSlotPlusSlot,
    kSlotMinusSlot,
    kBinary,  // op
    kUnary,   // op
    kAnd,
    kOr,
    kSelect,
    kLet,  // functions: slot c = a, then b
    kCall,
    kNode,
    kIndex,
    kRank,
    kLocalOf,
    kMin,
    kMax,
    kLog2,
    kPow2,
    kFault,  // `local` where nodes differ
  };
  struct Node {
    Code code = Code::kConst;
    ast::Op op = ast::Op::kAdd;
    uint32_t a = 0, b = 0, c = 0;
    int64_t value = 0;
    ast::ExprId expr;
  };
  struct Function {
    NodeId body = kNoNode;
    uint32_t slots = 0;
    uint32_t height = 0;   // of its tallest expression: what a call may cost of the stack
    bool pending = false;  // asked for, compiled or about to be
  };

  int64_t eval_slow(NodeId n);
  int64_t eval_call(const Node&);
  [[noreturn]] void fault(Fault f, const Node& n, int64_t a = 0, int64_t b = 0) const {
    throw EvalFault{f, n.expr, a, b};
  }

  NodeId add(Node n) {
    nodes_.push_back(n);
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  NodeId constant_node(int64_t value, ast::ExprId expr);
  NodeId compile_name(ast::ExprId);
  NodeId compile_call(ast::ExprId);
  NodeId compile_binary(ast::ExprId);
  NodeId fold(Node n);
  NodeId compile_tree(ast::ExprId);
  void compile_function(uint32_t item);
  NodeId compile_body(const std::vector<ast::StmtId>& body, NodeId then);
  void note_height(ast::ExprId e);

  const ast::File& file_;
  const World& world_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> call_arguments_;  // of kCall: node.b .. node.b + parameters
  std::vector<Function> functions_;       // by item
  std::vector<uint8_t> bound_;            // slots of the item with a known value
  std::vector<int64_t> bound_value_;
  Function* in_function_ = nullptr;  // being compiled
  std::vector<uint32_t> pending_;    // functions to compile: a list, so that chains of calls cost no stack
  std::vector<int64_t> stack_;
  int64_t* frame_ = nullptr;
  size_t top_ = 0;
  uint32_t depth_ = 0;
  uint64_t steps_ = 0, max_steps_ = 0;
  uint64_t calls_ = 0;  // among the steps
};

}  // namespace coll::dsl
