#pragma once
// Where the parser is among the tokens, and how it says what it missed there.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/lexer.h"

namespace coll::dsl {

inline bool is_reserved(std::string_view s) { return s == "buf" || s == "in" || s == "out" || s == "tmp"; }

class TokenCursor {
 protected:
  using Span = ast::Span;
  using enum TokenKind;

  TokenCursor(const SourceFile& source, Tokens& tokens, Diagnostics& diagnostics)
      : source_(source), tokens_(tokens.list), diagnostics_(diagnostics) {}

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  std::string_view text(const Token& t) const { return source_.text().substr(t.begin, t.end - t.begin); }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool is(TokenKind kind, size_t ahead = 0) const { return peek(ahead).kind == kind; }
  bool is_word(std::string_view word, size_t ahead = 0) const { return is(kName, ahead) && text(peek(ahead)) == word; }
  bool is_plain_name(size_t ahead = 0) const { return is(kName, ahead) && !is_reserved(text(peek(ahead))); }
  bool accept(TokenKind kind) {
    if (!is(kind)) return false;
    advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!is_word(word)) return false;
    advance();
    return true;
  }
  uint32_t last_end() const { return at_ == 0 ? 0 : tokens_[at_ - 1].end; }

  std::string seen(const Token& t) const {
    if (t.kind == kEnd) return "the end of the file";
    return quoted(text(t));
  }

  SourceRange range(Span s) const { return {&source_, s.begin, s.end}; }

  // Where something is missing: at the next token if it is on this line, else just behind the last one.
  Span here() const {
    const Token& t = peek();
    if (at_ > 0 && (t.newline_before || t.kind == kEnd)) {
      const Token& last = tokens_[at_ - 1];
      return {last.begin, last.end};
    }
    return {t.begin, std::max(t.end, t.begin)};
  }

  bool fail(DiagnosticId id, Span span, std::string message, std::string hint = {}) {
    diagnostics_.error(id, range(span), std::move(message), std::move(hint));
    sound_ = false;
    return false;
  }

  bool expect(TokenKind kind, DiagnosticId id, const char* rule, std::string hint = {}) {
    if (accept(kind)) return true;
    return fail(id, here(), "expected `" + std::string(dsl::spelling(kind)) + "` " + rule + ", found " + seen(peek()),
                std::move(hint));
  }

  bool name(std::string_view& out, Span& span, const char* of) {
    const Token& t = peek();
    if (t.kind == kName && is_reserved(text(t))) {
      fail(diag::kReservedName, {t.begin, t.end},
           quoted(text(t)) + " cannot be the name of " + of + ": buf, in, out and tmp are reserved");
      advance();
      return false;
    }
    if (t.kind != kName)
      return fail(diag::kExpectedName, here(), std::string("expected the name of ") + of + ", found " + seen(t));
    out = text(t);
    span = {t.begin, t.end};
    advance();
    return true;
  }

  // Names among the tokens from `first` to here: what they would have declared, had they parsed.
  std::vector<std::string_view> names_since(size_t first) const {
    std::vector<std::string_view> names;
    for (size_t i = first; i < at_; ++i)
      if (tokens_[i].kind == kName && !is_reserved(text(tokens_[i]))) names.push_back(text(tokens_[i]));
    return names;
  }

  // For the mark `tight`.
  Token& peek_mutable() { return tokens_[at_]; }

  const SourceFile& source_;
  std::vector<Token>& tokens_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  bool sound_ = true;  // no mistake in this item so far
};

}  // namespace coll::dsl
