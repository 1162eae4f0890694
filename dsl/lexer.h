#pragma once
// Text -> tokens. Comments are kept beside the tokens (the formatter needs them, the parser does not).
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/support/diagnostic.h"

namespace coll::dsl {

enum class TokenKind : uint8_t {
  kEnd,
  kName,
  kNumber,
  kString,
  // Punctuation
  kParenOpen,
  kParenClose,
  kBracketOpen,
  kBracketClose,
  kBraceOpen,
  kBraceClose,
  kComma,
  kSemicolon,
  kColon,
  kQuestion,
  kDot,
  kRange,  // ..<
  kAssign,
  kAddAssign,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool newline_before = false;  // first token of its line
  // Set by the parser for the formatter: an operator without a space after it, a bracket without one before it.
  bool tight = false;
  uint32_t begin = 0, end = 0;
  int64_t number = 0;
};

struct Comment {
  uint32_t begin = 0, end = 0;
  uint32_t before_token = 0;  // index of the token that follows
};

struct Tokens {
  std::vector<Token> list;  // ends with kEnd
  std::vector<Comment> comments;
};

Tokens lex(const SourceFile&, Diagnostics&);

// As it is written, for messages: `..<`.
const char* spelling(TokenKind);

}  // namespace coll::dsl
