#pragma once
// Names and the kinds of expressions: what each name refers to, numbers and conditions told apart.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"

namespace coll::dsl {

struct GivenRow {
  const char* name;
  ast::Given id;
  ast::Type type;
};
inline constexpr GivenRow kGiven[] = {
    {"ranks", ast::Given::kRanks, ast::Type::kNumber},  {"nodes", ast::Given::kNodes, ast::Type::kNumber},
    {"local", ast::Given::kLocal, ast::Type::kNumber},  {"root", ast::Given::kRoot, ast::Type::kNumber},
    {"src", ast::Given::kSrc, ast::Type::kNumber},      {"dst", ast::Given::kDst, ast::Type::kNumber},
    {"true", ast::Given::kTrue, ast::Type::kCondition}, {"false", ast::Given::kFalse, ast::Type::kCondition},
};

struct BuiltinRow {
  const char* name;
  ast::Builtin id;
  size_t least, most;
};
inline constexpr BuiltinRow kBuiltins[] = {
    {"node", ast::Builtin::kNode, 1, 1},   {"index", ast::Builtin::kIndex, 1, 1}, {"rank", ast::Builtin::kRank, 2, 2},
    {"local", ast::Builtin::kLocal, 1, 1}, {"min", ast::Builtin::kMin, 2, 64},    {"max", ast::Builtin::kMax, 2, 64},
    {"log2", ast::Builtin::kLog2, 1, 1},   {"pow2", ast::Builtin::kPow2, 1, 1},
};

inline const char* kind_name(ast::Item::Kind k) {
  return k == ast::Item::Kind::kAlgorithm    ? "an algorithm"
         : k == ast::Item::Kind::kCollective ? "a collective"
                                             : "a function";
}

class ExpressionChecker {
 protected:
  using Expr = ast::Expr;
  using ExprId = ast::ExprId;
  using Item = ast::Item;
  using Op = ast::Op;
  using Span = ast::Span;
  using Type = ast::Type;
  using Given = ast::Given;
  using HintItem = ast::HintItem;

  ExpressionChecker(ast::File& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}
  virtual ~ExpressionChecker() = default;

  // A call needs to know what kind of value the function gives.
  virtual void check_function(uint32_t item) = 0;

  enum class State : uint8_t { kNew, kRunning, kDone };

  struct Binding {
    uint32_t slot = 0;
    uint32_t depth = 0;
    Type type = Type::kNumber;
    Span span;
    bool lost = false;  // stood in text that did not parse: nothing is told of it
  };

  // What is being checked; saved and restored when a call asks for a function that was not looked at yet.
  struct Frame {
    Item* item = nullptr;
    std::unordered_map<std::string_view, std::vector<Binding>> names;
    std::vector<std::vector<std::string_view>> blocks;
    std::unordered_map<std::string_view, Binding> tmps;
    std::vector<std::string> tmp_names;
    bool moved = false;  // a transfer was seen
    bool has_chunks = false, has_instances = false;
    bool contract_unknown = false;
    std::vector<HintItem> hint_lines;
    std::optional<Type> returns;
  };

  Diagnostic& error(DiagnosticId id, Span span, std::string message, std::string hint = {}) {
    if (frame_.item != nullptr) frame_.item->sound = false;
    return diagnostics_.error(id, file_.range(span), std::move(message), std::move(hint));
  }

  std::optional<uint32_t> find(Item::Kind kind, std::string_view name) const {
    const auto& map = items_[static_cast<size_t>(kind)];
    auto it = map.find(name);
    if (it == map.end()) return std::nullopt;
    return it->second;
  }

  // --- names --------------------------------------------------------------------------------------------------------

  void push_block() { frame_.blocks.emplace_back(); }
  void pop_block() {
    for (std::string_view name : frame_.blocks.back()) {
      auto it = frame_.names.find(name);
      it->second.pop_back();
      if (it->second.empty()) frame_.names.erase(it);
    }
    frame_.blocks.pop_back();
  }

  // `root`, `src` and `dst` are given in some algorithms only, and free names in all others.
  bool is_given(std::string_view name) const {
    for (const GivenRow& g : kGiven)
      if (name == g.name) return given_allowed(g.id) && !(frame_.contract_unknown && is_of_contract(g.id));
    for (const BuiltinRow& b : kBuiltins)
      if (name == b.name) return true;
    return name == "all" || name == "rings" || name == "trees";
  }

  void refuse_given(std::string_view name, Span span, const char* what) {
    if (!is_given(name)) return;
    error(diag::kGivenName, span, quoted(name) + " has a meaning already: no " + what + " can have this name",
          "`my_" + std::string(name) + "`, for example");
  }

  void declare_lost(std::string_view name) {
    Binding b;
    b.slot = frame_.item->slots++;
    b.depth = static_cast<uint32_t>(frame_.blocks.size());
    b.type = Type::kUnknown;
    b.lost = true;
    std::vector<Binding>& bindings = frame_.names[name];
    if (!bindings.empty() && bindings.back().lost && bindings.back().depth == b.depth) return;
    bindings.push_back(b);
    frame_.blocks.back().push_back(name);
  }

  uint32_t declare(std::string_view name, Span span, Type type) {
    refuse_given(name, span, "variable");
    std::vector<Binding>& bindings = frame_.names[name];
    auto depth = static_cast<uint32_t>(frame_.blocks.size());
    if (!bindings.empty() && bindings.back().depth == depth && !bindings.back().lost && !frame_.item->braces_lost) {
      error(diag::kDuplicateName, span,
            quoted(name) + " is declared twice in this block: names never change their value")
          .notes.push_back({file_.range(bindings.back().span), "first here"});
    }
    bindings.push_back({frame_.item->slots, depth, type, span, false});
    frame_.blocks.back().push_back(name);
    return frame_.item->slots++;
  }

  const Binding* lookup(std::string_view name) const {
    auto it = frame_.names.find(name);
    return it == frame_.names.end() ? nullptr : &it->second.back();
  }

  std::vector<std::string> visible_names() const {
    std::vector<std::string> names;
    if (diagnostics_.error_count() >= Diagnostics::kLimit) return names;
    for (const auto& block : frame_.blocks)
      for (std::string_view name : block)
        if (!lookup(name)->lost) names.emplace_back(name);
    for (const GivenRow& g : kGiven)
      if (given_allowed(g.id)) names.emplace_back(g.name);
    return names;
  }

  std::vector<std::string> function_names() const {
    std::vector<std::string> names;
    for (const Item& item : file_.items)
      if (item.kind == Item::Kind::kFunction) names.emplace_back(item.name);
    for (const BuiltinRow& b : kBuiltins) names.emplace_back(b.name);
    return names;
  }

  static bool is_of_contract(Given g) { return g == Given::kRoot || g == Given::kSrc || g == Given::kDst; }

  bool given_allowed(Given g) const {
    if (!is_of_contract(g)) return true;
    const Item& item = *frame_.item;
    if (frame_.contract_unknown) return true;
    if (item.kind != Item::Kind::kAlgorithm || !item.builtin) return false;
    Contract c;
    c.kind = *item.builtin;
    return g == Given::kRoot ? c.has_root() : c.kind == ContractKind::kSendRecv;
  }

  // --- expressions --------------------------------------------------------------------------------------------------

  static bool differ(Type a, Type b) { return a != b && a != Type::kUnknown && b != Type::kUnknown; }

  void expect_number(ExprId id) {
    if (!differ(check(id), Type::kNumber)) return;
    error(diag::kNotANumber, file_[id].span,
          "expected a number, found the condition " + quoted(file_.text(file_[id].span)),
          "`c ? 1 : 0` makes a number of it");
  }

  void expect_condition(ExprId id) {
    if (!differ(check(id), Type::kCondition)) return;
    error(diag::kNotACondition, file_[id].span,
          "expected a condition, found the number " + quoted(file_.text(file_[id].span)), "compare it: `... != 0`");
  }

  Type check(ExprId id) {
    Type type = check_kind(id);
    file_[id].type = type;
    return type;
  }

  Type check_kind(ExprId id) {
    Expr& e = file_[id];  // stays where it is: the table does not grow any more
    switch (e.kind) {
      case Expr::Kind::kNumber:
        return Type::kNumber;
      case Expr::Kind::kName:
        return check_name(e);
      case Expr::Kind::kCall:
        return check_call(e);
      case Expr::Kind::kUnary:
        if (e.op == Op::kNot) {
          expect_condition(e.a);
          return Type::kCondition;
        }
        expect_number(e.a);
        return Type::kNumber;
      case Expr::Kind::kBinary:
        return check_binary(e);
      case Expr::Kind::kSelect: {
        expect_condition(e.a);
        Type b = check(e.b), c = check(e.c);
        if (differ(b, c))
          error(diag::kMixedKinds, e.span, "the two sides of `? :` are of two kinds: a number and a condition");
        return b != Type::kUnknown ? b : c;
      }
    }
    return Type::kNumber;
  }

  Type check_binary(Expr& e) {
    switch (e.op) {
      case Op::kAnd:
      case Op::kOr:
        expect_condition(e.a);
        expect_condition(e.b);
        return Type::kCondition;
      case Op::kEqual:
      case Op::kNotEqual: {
        Type a = check(e.a), b = check(e.b);
        if (differ(a, b)) error(diag::kMixedKinds, e.span, "a number is compared with a condition");
        return Type::kCondition;
      }
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual:
        expect_number(e.a);
        expect_number(e.b);
        return Type::kCondition;
      default:
        expect_number(e.a);
        expect_number(e.b);
        return Type::kNumber;
    }
  }

  Type check_name(Expr& e) {
    if (const Binding* b = lookup(e.name)) {
      e.refers = Expr::Refers::kSlot;
      e.target = b->slot;
      return b->type;
    }
    for (const GivenRow& g : kGiven) {
      if (e.name != g.name) continue;
      if (given_allowed(g.id)) {
        e.refers = Expr::Refers::kGiven;
        e.target = static_cast<uint32_t>(g.id);
        return g.type;
      }
      unknown_root(e, g);
      return Type::kUnknown;
    }
    if (e.name == "rings" || e.name == "trees") {
      error(diag::kRingsUnavailable, e.span, quoted(e.name) + " of the machine are not available yet");
      return Type::kUnknown;
    }
    bool is_function = find(Item::Kind::kFunction, e.name).has_value();
    for (const BuiltinRow& b : kBuiltins) is_function |= e.name == b.name;
    if (is_function) {
      error(diag::kFunctionWithoutCall, e.span, quoted(e.name) + " is a function: it is used with arguments",
            "`" + std::string(e.name) + "(...)`");
      return Type::kUnknown;
    }
    std::string hint = did_you_mean(e.name, visible_names(), diagnostics_);
    if (e.name == "all") hint = "`all` stands for all ranks: `buf[all][c]`, as the whole first index";
    error(diag::kUnknownName, e.span, "unknown name " + quoted(e.name), hint);
    return Type::kUnknown;
  }

  void unknown_root(const Expr& e, const GivenRow& g) {
    const Item& item = *frame_.item;
    std::string rule, hint;
    if (item.kind == Item::Kind::kAlgorithm) {
      rule = quoted(item.contract) + (g.id == Given::kRoot ? " has no root" : " has neither src nor dst");
      hint = g.id == Given::kRoot ? "broadcast, reduce, gather and scatter have one" : "sendrecv has them";
    } else {
      rule = std::string(kind_name(item.kind)) + " knows none";
      hint = "make it a parameter";
    }
    error(diag::kNoRoot, e.span, quoted(e.name) + " has no meaning here: " + rule, hint);
  }

  Type check_call(Expr& e) {
    for (ExprId a : e.arguments) expect_number(a);
    Span name_span{e.span.begin, e.span.begin + static_cast<uint32_t>(e.name.size())};
    if (auto f = find(Item::Kind::kFunction, e.name)) {
      e.refers = Expr::Refers::kFunction;
      e.target = *f;
      if (states_[*f] == State::kRunning) self_called_.emplace(*f, true);
      check_function(*f);
      const Item& function = file_.items[*f];
      if (!function.sound && states_[*f] != State::kRunning) frame_.item->sound = false;
      if (function.parameters.size() != e.arguments.size() && function.lost.empty())
        wrong_count(diag::kWrongArgumentCount, e.span, e.name, e.arguments.size(), function.parameters.size(),
                    function.parameters.size());
      return function.type;
    }
    for (const BuiltinRow& b : kBuiltins) {
      if (e.name != b.name) continue;
      e.refers = Expr::Refers::kBuiltin;
      e.target = static_cast<uint32_t>(b.id);
      if (e.arguments.size() < b.least || e.arguments.size() > b.most)
        wrong_count(diag::kWrongArgumentCount, e.span, e.name, e.arguments.size(), b.least, b.most);
      return Type::kNumber;
    }
    if (lost_.contains(e.name)) return Type::kUnknown;
    std::string hint = did_you_mean(e.name, function_names(), diagnostics_);
    if (hint.empty() && lookup(e.name) != nullptr) hint = quoted(e.name) + " is a variable";
    if (e.name == "reduce") hint = "`reduce(...)` is the whole right side of a statement, over places";
    error(diag::kUnknownFunction, name_span, "unknown function " + quoted(e.name), hint);
    return Type::kUnknown;
  }

  void wrong_count(DiagnosticId id, Span span, std::string_view name, size_t seen, size_t least, size_t most) {
    std::string wanted = std::to_string(least);
    if (most != least) wanted += " to " + std::to_string(most);
    error(id, span,
          quoted(name) + " takes " + wanted + (most == 1 ? " argument" : " arguments") + ", found " +
              std::to_string(seen));
  }

  ast::File& file_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, uint32_t> items_[3];  // by kind and name
  std::unordered_set<std::string_view> lost_;                // names in text that is no item
  std::vector<State> states_;                                // of functions, by item
  std::unordered_map<uint32_t, bool> self_called_;           // functions that were called while they were checked
  Frame frame_;
};

}  // namespace coll::dsl
