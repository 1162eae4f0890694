// The formatter works on tokens, not on the tree: the author's line breaks stay, as in gofmt, and with them every
// comment stays where it was. What is decided here is indentation, spaces, blank lines (one at most), the column of
// comments at the ends of neighbouring lines, and `{` and `else` on the line of what they belong to.
//
// A formatter that prints the tree anew would have to find a home for every comment, and would undo deliberate line
// breaks of long statements; it was rejected for that.
#include <algorithm>
#include <string>
#include <vector>

#include "dsl/frontend.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"

namespace coll {

namespace dsl {

namespace {

using enum TokenKind;

constexpr int kIndent = 2;
constexpr int kContinuation = 4;

struct Line {
  std::string code;     // with its indentation; may hold a block comment's lines
  std::string comment;  // at the end of the line
  size_t column = 0;    // where its author put it
  bool blank_before = false;
};

bool is_operator(TokenKind k) { return k >= kAssign && k <= kOr; }

class Formatter {
 public:
  Formatter(const SourceFile& source, const Tokens& tokens) : text_(source.text()), tokens_(tokens) {}

  std::string run() {
    size_t next_comment = 0;
    for (size_t i = 0; i < tokens_.list.size(); ++i) {
      for (; next_comment < tokens_.comments.size() && tokens_.comments[next_comment].before_token == i; ++next_comment)
        comment(next_comment, i);
      if (tokens_.list[i].kind != kEnd) token(i);
    }
    return print();
  }

 private:
  std::string slice(uint32_t begin, uint32_t end) const { return std::string(text_.substr(begin, end - begin)); }

  // Line ends between the last element and this one.
  int gap(uint32_t begin) const {
    auto between = text_.substr(end_, begin - end_);
    return static_cast<int>(std::count(between.begin(), between.end(), '\n'));
  }

  bool is_word(size_t i, std::string_view word) const {
    const Token& t = tokens_.list[i];
    return t.kind == kName && text_.substr(t.begin, t.end - t.begin) == word;
  }

  void start_line(int gaps, int indent) {
    // No blank line at the start of the file, behind `{` and before `}`.
    Line line;
    line.blank_before = gaps > 1 && !lines_.empty() && !opened_ && !closing_;
    line.code.assign(static_cast<size_t>(std::max(0, indent)), ' ');
    lines_.push_back(line);
    fresh_ = true;
  }

  int indent_at(size_t i) const {
    // Leading closers belong to the block outside.
    int closers = 0;
    for (size_t k = i; tokens_.list[k].kind == kBraceClose && (k == i || !tokens_.list[k].newline_before); ++k)
      ++closers;
    int indent = (depth_ - closers) * kIndent;
    if (closers == 0 && continues(i)) indent += kContinuation;
    return indent;
  }

  // Token i, on a line of its own, goes on with the statement of the line before.
  bool continues(size_t i) const {
    if (brackets_ > 0) return true;
    if (i == 0) return false;
    TokenKind before = tokens_.list[i - 1].kind, at = tokens_.list[i].kind;
    return is_operator(before) || before == kComma || before == kQuestion || before == kColon ||
           (is_operator(at) || at == kQuestion || at == kColon || at == kComma);
  }

  void token(size_t i) {
    const Token& t = tokens_.list[i];
    int gaps = gap(t.begin);
    bool joins = i > 0 && !after_comment_ &&
                 (t.kind == kBraceOpen || (is_word(i, "else") && tokens_.list[i - 1].kind == kBraceClose));
    if (lines_.empty() || (gaps > 0 && !joins)) {
      closing_ = t.kind == kBraceClose;
      start_line(gaps, indent_at(i));
      closing_ = false;
    }
    if (!fresh_ && (after_comment_ || space_before(i))) lines_.back().code += ' ';
    lines_.back().code += slice(t.begin, t.end);
    if (t.kind == kBraceOpen) ++depth_;
    if (t.kind == kBraceClose) --depth_;
    if (t.kind == kParenOpen || t.kind == kBracketOpen) ++brackets_;
    if (t.kind == kParenClose || t.kind == kBracketClose) --brackets_;
    opened_ = t.kind == kBraceOpen;
    end_ = t.end;
    fresh_ = false;
    after_comment_ = false;
  }

  bool space_before(size_t i) const {
    const Token& a = tokens_.list[i - 1];
    const Token& b = tokens_.list[i];
    if (b.kind == kComma || b.kind == kSemicolon || b.kind == kParenClose || b.kind == kBracketClose ||
        b.kind == kBracketOpen || b.kind == kDot)
      return false;
    if (a.kind == kParenOpen || a.kind == kBracketOpen || a.kind == kDot) return false;
    if (a.tight && (a.kind == kMinus || a.kind == kNot)) return false;
    if (b.kind == kParenOpen) return !b.tight;
    return !(a.kind == kBraceOpen && b.kind == kBraceClose);
  }

  void comment(size_t c, size_t next_token) {
    const Comment& comment = tokens_.comments[c];
    std::string text = slice(comment.begin, comment.end);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
    int gaps = gap(comment.begin);
    bool own_line = lines_.empty() || gaps > 0;
    if (own_line) {
      closing_ = false;
      int indent = depth_ * kIndent;
      if (tokens_.list[next_token].kind != kBraceClose && continues(next_token) && next_token > 0)
        indent += kContinuation;
      start_line(gaps, indent);
      opened_ = false;
    }
    // Last on its line: the next element begins on another one.
    uint32_t next = c + 1 < tokens_.comments.size() && tokens_.comments[c + 1].before_token == next_token
                        ? tokens_.comments[c + 1].begin
                        : tokens_.list[next_token].begin;
    auto behind = text_.substr(comment.end, next - comment.end);
    bool last = behind.find('\n') != std::string_view::npos || next == text_.size();
    if (!own_line && last && text.find('\n') == std::string::npos) {
      lines_.back().comment = text;
      lines_.back().column = comment.begin - (text_.rfind('\n', comment.begin) + 1);
    } else {
      if (!fresh_) lines_.back().code += ' ';
      lines_.back().code += text;
    }
    end_ = comment.end;
    fresh_ = false;
    after_comment_ = true;
  }

  std::string print() {
    std::string out;
    for (size_t i = 0; i < lines_.size();) {
      // A run of neighbouring lines with comments at their ends: one column for all, the author's if they have one
      // and there is room for it.
      size_t end = i;
      size_t column = 0;
      bool aligned = true;
      while (end < lines_.size() && !lines_[end].comment.empty() && (end == i || !lines_[end].blank_before)) {
        column = std::max(column, width(lines_[end].code) + 2);
        aligned &= lines_[end].column == lines_[i].column;
        ++end;
      }
      if (aligned && lines_[i].column > column) column = lines_[i].column;
      if (end == i) end = i + 1;
      for (; i < end; ++i) {
        if (lines_[i].blank_before) out += '\n';
        out += lines_[i].code;
        if (!lines_[i].comment.empty()) {
          out.append(column - width(lines_[i].code), ' ');
          out += lines_[i].comment;
        }
        out += '\n';
      }
    }
    return out;
  }

  static size_t width(const std::string& code) {
    size_t line = code.rfind('\n');
    return line == std::string::npos ? code.size() : code.size() - line - 1;
  }

  std::string_view text_;
  const Tokens& tokens_;
  std::vector<Line> lines_;
  uint32_t end_ = 0;  // of the last element
  int depth_ = 0, brackets_ = 0;
  bool fresh_ = true;           // nothing on this line yet
  bool opened_ = false;         // the last token was `{`
  bool closing_ = false;        // this line begins with `}`
  bool after_comment_ = false;  // the last element was a comment
};

}  // namespace

}  // namespace dsl

std::optional<std::string> format(const SourceFile& source, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  dsl::Tokens tokens = dsl::lex(source, diagnostics);
  dsl::parse_tokens(source, tokens, diagnostics);
  if (diagnostics.error_count() != before) return std::nullopt;
  return dsl::Formatter(source, tokens).run();
}

}  // namespace coll
