#pragma once
// Expressions: precedence climbing, one function for all binary operators, so that a level of nesting costs the parser
// a handful of stack frames and not one for each precedence.
#include <utility>

#include "dsl/parser.h"
#include "dsl/token_cursor.h"

namespace coll::dsl {

class ExpressionParser : protected TokenCursor {
 protected:
  using Expr = ast::Expr;
  using ExprId = ast::ExprId;
  using Op = ast::Op;

  ExpressionParser(const SourceFile& source, Tokens& tokens, Diagnostics& diagnostics)
      : TokenCursor(source, tokens, diagnostics) {
    file_.source = &source;
  }

  ExprId make(Expr e, bool& ok) {
    for (ExprId child : {e.a, e.b, e.c})
      if (child.valid()) e.height = std::max<uint16_t>(e.height, file_[child].height + 1);
    for (ExprId child : e.arguments) e.height = std::max<uint16_t>(e.height, file_[child].height + 1);
    if (e.height > kMaxExprHeight) {
      ok = fail(diag::kNestedTooDeep, {e.span.end - 1, e.span.end},
                "expression nests deeper than " + std::to_string(kMaxExprHeight) + " levels",
                "give parts of it names with `let`");
    }
    file_.exprs.push_back(std::move(e));
    return ExprId(static_cast<uint32_t>(file_.exprs.size() - 1));
  }

  bool expression(ExprId& out) {
    // Each level costs a few frames of this parser: the limit is about its stack, the other one about later walks'.
    if (depth_ >= kMaxExprHeight) {
      return fail(diag::kNestedTooDeep, {peek().begin, peek().end},
                  "expression nests deeper than " + std::to_string(kMaxExprHeight) + " levels",
                  "give parts of it names with `let`");
    }
    ++depth_;
    bool ok = select(out);
    --depth_;
    return ok;
  }

  bool select(ExprId& out) {
    if (!binary(out, 1)) return false;
    if (!accept(kQuestion)) return true;
    Expr e;
    e.kind = Expr::Kind::kSelect;
    e.a = out;
    if (!expression(e.b)) return false;
    if (!expect(kColon, diag::kExpectedColon, "and the other value after `?`")) return false;
    if (!expression(e.c)) return false;
    e.span = {file_[e.a].span.begin, last_end()};
    bool ok = true;
    out = make(std::move(e), ok);
    return ok;
  }

  struct Level {
    int precedence;  // 0: no operator
    Op op;
  };
  static Level level(TokenKind kind) {
    switch (kind) {
      case kOr:
        return {1, Op::kOr};
      case kAnd:
        return {2, Op::kAnd};
      case kLess:
        return {3, Op::kLess};
      case kLessEqual:
        return {3, Op::kLessEqual};
      case kGreater:
        return {3, Op::kGreater};
      case kGreaterEqual:
        return {3, Op::kGreaterEqual};
      case kEqual:
        return {3, Op::kEqual};
      case kNotEqual:
        return {3, Op::kNotEqual};
      case kPlus:
        return {4, Op::kAdd};
      case kMinus:
        return {4, Op::kSub};
      case kStar:
        return {5, Op::kMul};
      case kSlash:
        return {5, Op::kDiv};
      case kPercent:
        return {5, Op::kMod};
      default:
        return {0, Op::kAdd};
    }
  }

  bool binary(ExprId& out, int least) {
    if (!unary(out)) return false;
    bool compared = false;
    for (;;) {
      const Token& t = peek();
      Level l = level(t.kind);
      if (l.precedence == 0 || l.precedence < least) return true;
      if (l.precedence == 3) {
        if (compared)
          return fail(diag::kChainedComparison, {t.begin, t.end}, "comparisons cannot be chained",
                      "write `a < b && b < c`");
        compared = true;
      }
      advance();
      Expr e;
      e.kind = Expr::Kind::kBinary;
      e.op = l.op;
      e.a = out;
      if (!binary(e.b, l.precedence + 1)) return false;
      e.span = {file_[e.a].span.begin, last_end()};
      bool ok = true;
      out = make(std::move(e), ok);
      if (!ok) return false;
    }
  }

  bool unary(ExprId& out) {
    const Token& t = peek();
    if (t.kind != kMinus && t.kind != kNot) return primary(out);
    if (depth_ >= kMaxExprHeight) return expression(out);  // reports it
    uint32_t begin = t.begin;
    Expr e;
    e.kind = Expr::Kind::kUnary;
    e.op = t.kind == kMinus ? Op::kNegate : Op::kNot;
    peek_mutable().tight = true;
    advance();
    ++depth_;
    bool ok = unary(e.a);
    --depth_;
    if (!ok) return false;
    e.span = {begin, last_end()};
    out = make(std::move(e), ok);
    return ok;
  }

  // A line that begins with two names, or with a place, is no value: the line before it is unfinished.
  bool begins_statement() const {
    if (!peek().newline_before || peek(1).newline_before) return false;
    if (is(kBracketOpen, 1)) return true;
    if (!is(kName, 1)) return false;
    for (const char* word : {"step", "on", "protocol", "via", "wire"})  // what may follow a value
      if (is_word(word, 1)) return false;
    return true;
  }

  bool primary(ExprId& out) {
    const Token& t = peek();
    Expr e;
    e.span = {t.begin, t.end};
    bool ok = true;
    if (t.kind == kNumber) {
      e.number = t.number;
      advance();
      out = make(std::move(e), ok);
      return ok;
    }
    if (t.kind == kParenOpen) {
      advance();
      if (!expression(out)) return false;
      return expect(kParenClose, diag::kUnclosedParen, "to close the parenthesis");
    }
    if (t.kind == kName && is(kBracketOpen, 1) && !t.newline_before && !peek(1).newline_before) {
      return fail(diag::kDataInExpression, {t.begin, t.end},
                  "`" + std::string(text(t)) + "[...]` is data: it cannot be part of an expression",
                  "what moves where never depends on the data");
    }
    if (t.kind != kName || is_reserved(text(t)) || begins_statement()) {
      return fail(diag::kExpectedExpression, here(), "expected a value, found " + seen(t));
    }
    e.kind = Expr::Kind::kName;
    e.name = text(t);
    advance();
    if (is(kParenOpen) && !peek().newline_before) {
      e.kind = Expr::Kind::kCall;
      if (!arguments(e.arguments)) return false;
      e.span.end = last_end();
    }
    out = make(std::move(e), ok);
    return ok;
  }

  bool arguments(std::vector<ExprId>& out) {
    peek_mutable().tight = true;
    advance();  // (
    if (accept(kParenClose)) return true;
    do {
      ExprId e;
      if (!expression(e)) return false;
      out.push_back(e);
    } while (accept(kComma));
    return expect(kParenClose, diag::kUnclosedParen, "after the arguments");
  }

  ast::File file_;

 private:
  int depth_ = 0;
};

}  // namespace coll::dsl
