// A parsed file as an indented tree. Expressions are printed with all their parentheses, so that one sees how they
// were read.
#include <string>

#include "dsl/ast.h"
#include "dsl/frontend.h"

namespace coll {

namespace {

using namespace ast;

class Printer {
 public:
  explicit Printer(const File& file) : file_(file) {}

  std::string run() {
    line(0, "file " + file_.source->name());
    for (const Item& item : file_.items) print(item);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  std::string expr(ExprId id) const {
    const Expr& e = file_[id];
    switch (e.kind) {
      case Expr::Kind::kNumber:
        return std::to_string(e.number);
      case Expr::Kind::kName:
        return std::string(e.name);
      case Expr::Kind::kCall:
        return std::string(e.name) + "(" + list(e.arguments) + ")";
      case Expr::Kind::kUnary:
        return std::string("(") + spelling(e.op) + expr(e.a) + ")";
      case Expr::Kind::kBinary:
        return "(" + expr(e.a) + " " + spelling(e.op) + " " + expr(e.b) + ")";
      case Expr::Kind::kSelect:
        return "(" + expr(e.a) + " ? " + expr(e.b) + " : " + expr(e.c) + ")";
    }
    return {};
  }

  std::string list(const std::vector<ExprId>& exprs) const {
    std::string out;
    for (ExprId e : exprs) out += (out.empty() ? "" : ", ") + expr(e);
    return out;
  }

  std::string index(const Index& i) const {
    if (i.all) return "[all]";
    return "[" + expr(i.first) + (i.is_range() ? " ..< " + expr(i.last) : "") + "]";
  }

  std::string access(const Access& a) const { return std::string(a.buffer) + index(a.rank) + index(a.chunk); }

  std::string sources(const Stmt& s) const {
    std::string out;
    for (size_t i = 1; i < s.accesses.size(); ++i) out += (i == 1 ? "" : ", ") + access(s.accesses[i]);
    return s.reduces ? "reduce(" + out + ")" : out;
  }

  std::string hints(const Stmt& s) const {
    std::string out;
    for (const HintItem& h : s.hints) {
      switch (h.kind) {
        case HintItem::Kind::kChannel:
          out += " on channel " + expr(h.value);
          break;
        case HintItem::Kind::kLane:
          out += " on lane " + expr(h.value);
          break;
        case HintItem::Kind::kProtocol:
          out += " protocol " + std::string(h.word);
          break;
        case HintItem::Kind::kVia:
          out += " via " + std::string(h.word);
          break;
        case HintItem::Kind::kWire:
          out += " wire " + std::string(h.word);
          break;
      }
    }
    return out;
  }

  void print(const Item& item) {
    std::string head(item.kind == Item::Kind::kAlgorithm    ? "algorithm "
                     : item.kind == Item::Kind::kCollective ? "collective "
                                                            : "function ");
    head += item.name;
    if (!item.contract.empty()) head += " implements " + std::string(item.contract);
    if (!item.contract_arguments.empty()) head += "(" + list(item.contract_arguments) + ")";
    line(1, head);
    for (const Parameter& p : item.parameters)
      line(2, "parameter " + std::string(p.name) + (p.value.valid() ? " = " + expr(p.value) : ""));
    if (item.value.valid()) line(2, "return " + expr(item.value));
    block(item.body, 2);
  }

  void block(const std::vector<StmtId>& body, int depth) {
    for (StmtId id : body) print(file_[id], depth);
  }

  void print(const Stmt& s, int depth) {
    using K = Stmt::Kind;
    switch (s.kind) {
      case K::kTransfer:
        line(depth, access(s.accesses[0]) + (s.accumulates ? " += " : " = ") + sources(s) + hints(s));
        break;
      case K::kLet:
        line(depth, "let " + std::string(s.name) + " = " + expr(s.value));
        break;
      case K::kFor: {
        std::string head;
        for (const Iterator& i : s.iterators) {
          head +=
              (head.empty() ? "for " : ", ") + std::string(i.name) + " in " + expr(i.first) + " ..< " + expr(i.last);
          if (i.step.valid()) head += " step " + expr(i.step);
        }
        line(depth, head);
        block(s.body, depth + 1);
        break;
      }
      case K::kIf:
        line(depth, "if " + expr(s.value));
        block(s.body, depth + 1);
        if (!s.otherwise.empty()) {
          line(depth, "else");
          block(s.otherwise, depth + 1);
        }
        break;
      case K::kRequire:
        line(depth, "require " + expr(s.value) + ", \"" + std::string(s.message) + "\"");
        break;
      case K::kReturn:
        line(depth, "return " + expr(s.value));
        break;
      case K::kEnsure:
        line(depth, "ensure " + access(s.accesses[0]) + " == " + (s.accesses.size() == 1 ? "any" : sources(s)));
        break;
      case K::kChunks:
        line(depth,
             s.second.valid() ? "chunks in " + expr(s.value) + ", out " + expr(s.second) : "chunks " + expr(s.value));
        break;
      case K::kTmp:
        line(depth, "tmp " + std::string(s.name) + "[" + expr(s.value) + "]");
        break;
      case K::kInstances:
        line(depth, "instances " + expr(s.value));
        break;
      case K::kHintLine:
        line(depth, "hint" + hints(s));
        break;
      case K::kFaulty:
        line(depth, "faulty");
        break;
    }
  }

  const File& file_;
  std::string out_;
};

}  // namespace

std::string print_ast(const ast::File& file) { return Printer(file).run(); }

}  // namespace coll

namespace coll::ast {

const char* spelling(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    case Op::kMod:
      return "%";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kGreater:
      return ">";
    case Op::kGreaterEqual:
      return ">=";
    case Op::kEqual:
      return "==";
    case Op::kNotEqual:
      return "!=";
    case Op::kAnd:
      return "&&";
    case Op::kOr:
      return "||";
    case Op::kNegate:
      return "-";
    case Op::kNot:
      return "!";
  }
  return "?";
}

}  // namespace coll::ast
