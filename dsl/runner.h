#pragma once
// Runs the statements that algorithms and collectives share (let, for, if, require) and hands the others to a leaf.
//
// Statements of the body itself are compiled and run one by one, so that its `let`s are constants for all that
// follows: that is where most loop invariants live. What a loop contains is compiled once, before it runs.
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/frontend.h"
#include "dsl/program.h"
#include "ir/support/diagnostic.h"

namespace coll::dsl {

// `[first ..< last]`, or one place where `last` is kNoNode.
struct CompiledAccess {
  uint32_t buffer = 0;
  bool all = false;
  NodeId rank = kNoNode, first = kNoNode, last = kNoNode;
  const ast::Access* source = nullptr;
};

// Variables that a statement sees, innermost first, for messages.
struct Visible {
  uint32_t outer = 0xffffffffu;
  std::string_view name;
  uint32_t slot = 0;
};

struct Step {
  enum class Kind : uint8_t { kLet, kLoop, kIf, kRequire, kLeaf };
  Kind kind = Kind::kLeaf;
  bool refused = false;  // told once; skipped from then on
  uint32_t slot = 0;
  NodeId a = kNoNode, b = kNoNode, c = kNoNode;  // let: a; loop: a ..< b step c; if and require: a
  const ast::Stmt* stmt = nullptr;
  const ast::Iterator* iterator = nullptr;
  uint32_t visible = 0xffffffffu;
  std::vector<CompiledAccess> accesses;  // leaf
  uint32_t line = 0, hint = 0;           // leaf: as the leaf's compile left them
  NodeId channel = kNoNode, lane = kNoNode;
  std::vector<Step> body, otherwise;
};

class Runner {
 public:
  Runner(const ast::File&, const ast::Item&, Program&, Diagnostics&);
  virtual ~Runner() = default;

  // False when something was refused.
  bool run();

 protected:
  struct Stop {};  // thrown: the rest cannot be run
  struct Told {};  // thrown: this statement was refused; others may go on

  // A statement of the item's body that declares something (chunks, tmp, ...), or a `let` bound already.
  virtual void declare(const ast::Stmt&) = 0;
  virtual void compile_leaf(Step&) = 0;
  virtual void leaf(Step&) = 0;
  // At least so many leaves will follow, `sure` of them with one place or more: a chance to reserve memory, or to
  // refuse. `stmt` is the outermost loop.
  virtual void expect(uint64_t /*leaves*/, uint64_t /*sure*/, const ast::Stmt& /*stmt*/) {}

  [[noreturn]] void refuse(DiagnosticId id, ast::Span span, std::string message, std::string hint = {});
  int64_t value(const ast::Stmt&, ast::ExprId);  // now; of declarations
  void tell(const EvalFault&);
  // ", with s = 3, r = 5", or nothing outside of loops.
  std::string values() const;

  // Place numbers of an access. Wraps modulo `count` or refuses; length is 1 for a single index.
  struct Places {
    uint32_t start = 0, length = 1;
  };
  Places places(const CompiledAccess&, uint32_t count, bool wraps);

  static uint32_t wrap(int64_t v, uint32_t n) {
    if (static_cast<uint64_t>(v) < n) return static_cast<uint32_t>(v);
    if (v < 0 && v >= -static_cast<int64_t>(n)) return static_cast<uint32_t>(v + n);
    if (v >= 0 && v < 2 * static_cast<int64_t>(n)) return static_cast<uint32_t>(v - n);
    return static_cast<uint32_t>(floor_mod(v, n));
  }
  [[noreturn]] void too_much(ast::Span span);  // of steps
  [[noreturn]] void refuse_size(ast::Span span, std::string message);
  // "at least 1000 statements", also of numbers that do not fit.
  static std::string amount(uint64_t count, const char* of);

  SourceRange range(ast::Span s) const { return file_.range(s); }
  std::string text(ast::Span s) const { return quoted(file_.text(s)); }

  const ast::File& file_;
  const ast::Item& item_;
  Program& program_;
  Diagnostics& diagnostics_;

 private:
  void compile_block(const std::vector<ast::StmtId>& body, std::vector<Step>& out, uint32_t visible);
  void compile_statement(const ast::Stmt&, std::vector<Step>& out, uint32_t& visible);
  void exec(std::vector<Step>& steps);
  void exec_loop(Step&);
  struct Size {
    uint64_t leaves = 0, sure = 0, steps = 0;
  };
  Size size(const std::vector<Step>&) const;
  int64_t value(const Step&, NodeId);
  uint32_t show(uint32_t outer, std::string_view name, uint32_t slot);

  std::vector<Visible> visible_;
  const Step* current_ = nullptr;  // for messages
  const ast::Stmt* declaring_ = nullptr;
  int refused_ = 0;
};

}  // namespace coll::dsl
