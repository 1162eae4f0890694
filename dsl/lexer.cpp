#include "dsl/lexer.h"

#include <string>

#include "dsl/diagnostics.h"

namespace coll::dsl {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Punctuation {
  const char* text;
  TokenKind kind;
};

// Longer ones first: the first that fits is taken.
constexpr Punctuation kPunctuation[] = {
    {"..<", TokenKind::kRange},       {"+=", TokenKind::kAddAssign},  {"<=", TokenKind::kLessEqual},
    {">=", TokenKind::kGreaterEqual}, {"==", TokenKind::kEqual},      {"!=", TokenKind::kNotEqual},
    {"&&", TokenKind::kAnd},          {"||", TokenKind::kOr},         {"(", TokenKind::kParenOpen},
    {")", TokenKind::kParenClose},    {"[", TokenKind::kBracketOpen}, {"]", TokenKind::kBracketClose},
    {"{", TokenKind::kBraceOpen},     {"}", TokenKind::kBraceClose},  {",", TokenKind::kComma},
    {";", TokenKind::kSemicolon},     {":", TokenKind::kColon},       {"?", TokenKind::kQuestion},
    {".", TokenKind::kDot},           {"=", TokenKind::kAssign},      {"+", TokenKind::kPlus},
    {"-", TokenKind::kMinus},         {"*", TokenKind::kStar},        {"/", TokenKind::kSlash},
    {"%", TokenKind::kPercent},       {"<", TokenKind::kLess},        {">", TokenKind::kGreater},
    {"!", TokenKind::kNot},
};

// What people of other languages write, and what it is here.
struct Foreign {
  const char* text;
  const char* hint;
  TokenKind taken_as;
};
constexpr Foreign kForeign[] = {
    {"...", "a range is written `a ..< b`, without its end", TokenKind::kRange},
    {"..=", "a range is written `a ..< b`, without its end", TokenKind::kRange},
    {"..", "a range is written `a ..< b`, without its end", TokenKind::kRange},
    {"++", "names are fixed; loops count with `for x in a ..< b`", TokenKind::kPlus},
    {"-=", "the only combining assignment is `+=`, with the collective's operator", TokenKind::kAddAssign},
    {"*=", "the only combining assignment is `+=`, with the collective's operator", TokenKind::kAddAssign},
    {"/=", "the only combining assignment is `+=`, with the collective's operator", TokenKind::kAddAssign},
    {"**", "powers of two are written `pow2(x)`", TokenKind::kStar},
    {"<<", "powers of two are written `pow2(x)`", TokenKind::kStar},
    {">>", "divide by `pow2(x)`; division rounds down", TokenKind::kSlash},
    {"&", "`and` is written `&&`", TokenKind::kAnd},
    {"|", "`or` is written `||`", TokenKind::kOr},
    {"^", "there is no exclusive or on integers; a partner at distance d is `r / d % 2 == 0 ? r + d : r - d`",
     TokenKind::kPlus},
};

class Lexer {
 public:
  Lexer(const SourceFile& file, Diagnostics& diagnostics)
      : file_(file), text_(file.text()), diagnostics_(diagnostics) {}

  Tokens run() {
    if (file_.too_large()) error(diag::kUnreadableText, 0, 0, "the text is too large: 1 GiB is the most");
    tokens_.list.reserve(text_.size() / 3 + 1);
    while (skip_blank()) token();
    Token end;
    end.newline_before = true;
    end.begin = end.end = static_cast<uint32_t>(text_.size());
    tokens_.list.push_back(end);
    return std::move(tokens_);
  }

 private:
  void error(DiagnosticId id, uint32_t begin, uint32_t end, std::string message, std::string hint = {}) {
    diagnostics_.error(id, {&file_, begin, end}, std::move(message), std::move(hint));
  }

  char at(uint32_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool starts(const char* s) const { return text_.substr(at_).starts_with(s); }

  bool skip_blank() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        newline_ = true;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && at(at_ + 1) == '/') {
        uint32_t begin = at_;
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        uint32_t end = at_;
        if (end > begin && text_[end - 1] == '\r') --end;
        comment(begin, end);
      } else if (c == '/' && at(at_ + 1) == '*') {
        size_t close = text_.find("*/", at_ + 2);
        uint32_t begin = at_;
        if (close == std::string_view::npos) {
          error(diag::kUnterminatedComment, begin, begin + 2, "comment `/*` without its end `*/`");
          at_ = static_cast<uint32_t>(text_.size());
        } else {
          at_ = static_cast<uint32_t>(close + 2);
        }
        if (text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos) newline_ = true;
        comment(begin, at_);
      } else {
        return true;
      }
    }
    return false;
  }

  void comment(uint32_t begin, uint32_t end) {
    tokens_.comments.push_back({begin, end, static_cast<uint32_t>(tokens_.list.size())});
  }

  void push(TokenKind kind, uint32_t begin, uint32_t end, int64_t number = 0) {
    Token t;
    t.kind = kind;
    t.newline_before = newline_;
    t.begin = begin;
    t.end = end;
    t.number = number;
    tokens_.list.push_back(t);
    newline_ = false;
    at_ = end;
  }

  void token() {
    char c = text_[at_];
    if (is_letter(c)) {
      uint32_t end = at_;
      while (is_letter(at(end)) || is_digit(at(end))) ++end;
      return push(TokenKind::kName, at_, end);
    }
    if (is_digit(c)) return number();
    if (c == '"') return string();
    punctuation();
  }

  void number() {
    uint32_t begin = at_, end = at_;
    int64_t value = 0;
    bool overflow = false;
    while (is_digit(at(end))) {
      overflow |= __builtin_mul_overflow(value, int64_t{10}, &value);
      overflow |= __builtin_add_overflow(value, int64_t{at(end) - '0'}, &value);
      ++end;
    }
    uint32_t digits_end = end;
    while (is_letter(at(end)) || is_digit(at(end)) || (at(end) == '.' && is_digit(at(end + 1)))) ++end;
    std::string seen(text_.substr(begin, std::min<uint32_t>(end - begin, 40)));
    if (end != digits_end) {
      error(diag::kMalformedNumber, begin, end, "`" + seen + "` is not a number: numbers are decimal integers");
    } else if (overflow) {
      error(diag::kNumberTooLarge, begin, end, "`" + seen + "` does not fit in 64 bits");
    }
    push(TokenKind::kNumber, begin, end, overflow ? 0 : value);
  }

  void string() {
    uint32_t begin = at_, end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') ++end;
    if (at(end) == '"') return push(TokenKind::kString, begin, end + 1);
    error(diag::kUnterminatedString, begin, end, "string without its closing quote", "strings end on their line");
    push(TokenKind::kString, begin, end);
  }

  void punctuation() {
    for (const Foreign& f : kForeign) {
      if (!starts(f.text) || starts("..<") || starts("&&") || starts("||")) continue;
      uint32_t end = at_ + static_cast<uint32_t>(std::string_view(f.text).size());
      error(diag::kUnknownOperator, at_, end, std::string("unknown operator `") + f.text + "`", f.hint);
      return push(f.taken_as, at_, end);
    }
    for (const Punctuation& p : kPunctuation)
      if (starts(p.text)) return push(p.kind, at_, at_ + static_cast<uint32_t>(std::string_view(p.text).size()));
    auto c = static_cast<unsigned char>(text_[at_]);
    // A run of such bytes is told once: a binary file would otherwise drown the reader.
    uint32_t begin = at_, end = at_ + 1;
    if (c < 0x20 || c == 0x7f) {
      while (end < text_.size() && static_cast<unsigned char>(text_[end]) < 0x20 && text_[end] != '\n') ++end;
      error(diag::kUnreadableText, begin, end, "control character with code " + std::to_string(c) + " in the text");
    } else if (c >= 0x80) {
      while (end < text_.size() && static_cast<unsigned char>(text_[end]) >= 0x80) ++end;
      error(diag::kUnexpectedCharacter, begin, end, "unexpected character " + quoted(text_.substr(begin, end - begin)),
            "outside comments and strings the language is plain ASCII");
    } else {
      error(diag::kUnexpectedCharacter, begin, end, std::string("unexpected character `") + text_[at_] + "`");
    }
    at_ = end;
  }

  const SourceFile& file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  Tokens tokens_;
  uint32_t at_ = 0;
  bool newline_ = true;
};

}  // namespace

Tokens lex(const SourceFile& file, Diagnostics& diagnostics) { return Lexer(file, diagnostics).run(); }

const char* spelling(TokenKind kind) {
  for (const Punctuation& p : kPunctuation)
    if (p.kind == kind) return p.text;
  switch (kind) {
    case TokenKind::kName:
      return "a name";
    case TokenKind::kNumber:
      return "a number";
    case TokenKind::kString:
      return "a string";
    default:
      return "the end of the file";
  }
}

}  // namespace coll::dsl
