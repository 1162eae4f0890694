#pragma once
// The syntax tree of a .coll file: flat tables of expressions and statements that refer to each other by id.
//
// Flat, because then neither a long chain of operators nor deep nesting costs a deep recursion to free it, and because
// the checker can write what it found (slots, kinds) beside each node. Names are views into the text of the
// SourceFile, which must outlive the tree.
//
// What the checker adds is marked so below. After it, every variable is a slot of its item's frame: parameters first,
// then `let`s and loop variables in order of appearance, each with a slot of its own.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/contract.h"
#include "ir/support/ids.h"
#include "ir/support/source.h"

namespace coll::ast {

using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;

struct Span {
  uint32_t begin = 0, end = 0;
};

// Unknown is the kind of what was refused already: it fits everywhere, so that one mistake is told once.
enum class Type : uint8_t { kNumber, kCondition, kUnknown };

enum class Op : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // floor
  kMod,  // floor
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNegate,
  kNot,
};
const char* spelling(Op);

// Names that are there without being declared.
enum class Given : uint8_t { kRanks, kNodes, kLocal, kRoot, kSrc, kDst, kTrue, kFalse };
enum class Builtin : uint8_t { kNode, kIndex, kRank, kLocal, kMin, kMax, kLog2, kPow2 };

struct Expr {
  enum class Kind : uint8_t {
    kNumber,
    kName,
    kCall,    // name, arguments
    kUnary,   // op, a
    kBinary,  // op, a, b
    kSelect,  // a ? b : c
  };
  // What a name or a call refers to; by the checker.
  enum class Refers : uint8_t { kNothing, kSlot, kGiven, kBuiltin, kFunction };

  Kind kind = Kind::kNumber;
  Op op = Op::kAdd;
  Type type = Type::kNumber;         // checker
  Refers refers = Refers::kNothing;  // checker
  uint16_t height = 1;               // of the tree below, itself included; limited
  uint32_t target = 0;               // checker: slot, Given, Builtin or index of the function's item
  Span span;
  std::string_view name;
  int64_t number = 0;
  ExprId a, b, c;
  std::vector<ExprId> arguments;
};

// `[a]`, `[a ..< b]` or, for ranks, `[all]`.
struct Index {
  bool all = false;
  ExprId first;
  ExprId last;  // valid for a range
  Span span;
  uint32_t binder = kNoBinder;  // checker, in `ensure out[r][c]`: the slot that runs over all ranks or blocks
  static constexpr uint32_t kNoBinder = 0xffffffffu;
  bool is_range() const { return last.valid(); }
};

// `buf[rank][chunk]`.
struct Access {
  std::string_view buffer;
  Span buffer_span, span;
  Index rank, chunk;
  uint32_t buffer_id = 0;  // checker: buffers::kIn, kOut, kBuf, or kFirstTmp + number of the tmp
};

struct Iterator {
  std::string_view name;
  Span name_span;
  ExprId first, last, step;  // step may be invalid: 1
  uint32_t slot = 0;         // checker
};

struct HintItem {
  enum class Kind : uint8_t { kChannel, kLane, kProtocol, kVia, kWire };
  Kind kind = Kind::kChannel;
  Span span;
  ExprId value;           // channel, lane
  std::string_view word;  // protocol, via, wire
};

struct Stmt {
  enum class Kind : uint8_t {
    kTransfer,   // accesses[0] = / += accesses[1], or reduce(accesses[1..])
    kLet,        // name = value
    kFor,        // iterators, body
    kIf,         // value, body, otherwise
    kRequire,    // value, message
    kReturn,     // value
    kEnsure,     // accesses[0] == accesses[1], reduce(accesses[1..]) or any (no more accesses)
    kChunks,     // value; in a collective: value (in) and second (out)
    kTmp,        // name, value
    kInstances,  // value
    kHintLine,   // hints
    kFaulty,     // did not parse, and was told; lost
  };
  Kind kind = Kind::kLet;
  bool accumulates = false;  // `+=`
  bool reduces = false;      // reduce(...) was written
  Span span;                 // up to the body, if there is one
  std::string_view name;
  Span name_span;
  uint32_t slot = 0;  // checker: let; tmp: its number
  ExprId value, second;
  std::string_view message;
  std::vector<Access> accesses;
  std::vector<Iterator> iterators;
  std::vector<HintItem> hints;
  std::vector<StmtId> body, otherwise;
  std::vector<std::string_view> lost;  // names that it may have declared
};

struct Parameter {
  std::string_view name;
  Span span;
  ExprId value;               // default; algorithms only
  int64_t default_value = 0;  // checker
};

struct Item {
  enum class Kind : uint8_t { kAlgorithm, kCollective, kFunction };
  Kind kind = Kind::kAlgorithm;
  bool sound = true;  // parsed and checked without error
  // Mistakes of the grammar: what could follow from them only is not told.
  bool parsed = true;                  // false: some statement or part of the head is missing here
  bool braces_lost = false;            // statements may stand in another block than their author meant
  std::vector<std::string_view> lost;  // names in a head that did not parse
  std::string_view name;
  Span name_span;
  std::vector<Parameter> parameters;
  // Algorithm:
  std::string_view contract;
  Span contract_span;
  std::vector<ExprId> contract_arguments;
  std::optional<ContractKind> builtin;  // checker; none for a user's own collective
  uint32_t collective = 0;              // checker: index of its item
  // Function of the form `= value`; otherwise the body counts.
  ExprId value;
  Type type = Type::kNumber;  // checker: what a function returns
  std::vector<StmtId> body;
  uint32_t slots = 0;  // checker: size of the frame
};

struct File {
  const SourceFile* source = nullptr;
  std::vector<Item> items;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<std::string_view> lost;  // names in text that is no item: they may be functions or collectives

  const Expr& operator[](ExprId id) const { return exprs[id.value]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.value]; }
  Expr& operator[](ExprId id) { return exprs[id.value]; }
  Stmt& operator[](StmtId id) { return stmts[id.value]; }
  SourceRange range(Span s) const { return {source, s.begin, s.end}; }
  std::string_view text(Span s) const { return source->text().substr(s.begin, s.end - s.begin); }
};

}  // namespace coll::ast
