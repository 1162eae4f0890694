#pragma once
// A hand scanner over plan and schedule text, and the lines of the head that both share.
//
// The grammar is line by line, so an error is recovered from at the next line. Nothing is allocated per token: words
// are views, numbers go through from_chars. `#` begins a comment (dropped); spaces, tabs and carriage returns
// separate; indentation means nothing.
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ir/contract.h"
#include "ir/diagnostics.h"
#include "ir/extent.h"
#include "ir/support/diagnostic.h"

namespace coll {

// More than any plan we would run; a text of a few bytes must not make later code reserve the memory of a machine.
struct TextLimits {
  static constexpr uint32_t kRanks = 1u << 20;
  static constexpr uint32_t kInstances = 1u << 16;
  static constexpr uint64_t kPlaces = 1ull << 30;        // of in, out and scratch (tmps) of all ranks together
  static constexpr uint64_t kGroupMembers = 1ull << 24;  // of all groups together
  static constexpr uint32_t kGrids = 1u << 16;
  static constexpr uint32_t kSlots = 1u << 20;
  static constexpr uint64_t kShare = 1ull << 62;  // of a share's denominator
};

class TextReader {
 public:
  TextReader(const SourceFile& file, Diagnostics& diagnostics);

  // Goes to the next line that is not empty; false at the end of the text.
  bool next_line();
  // True at the end of the line or at a comment. Skips spaces.
  bool at_end() {
    skip_spaces();
    return p_ == line_end_ || *p_ == '#';
  }

  // A run of letters, digits and underscores; empty if there is none.
  std::string_view word() {
    skip_spaces();
    const char* begin = p_;
    while (p_ != line_end_ && is_word(*p_)) ++p_;
    return {begin, static_cast<size_t>(p_ - begin)};
  }
  std::string_view peek_word() {
    const char* before = p_;
    std::string_view w = word();
    if (!w.empty()) before = w.data();
    p_ = before;
    return w;
  }
  bool accept_word(std::string_view expected) {
    const char* before = p_;
    if (word() == expected) return true;
    p_ = before;
    return false;
  }
  bool accept(std::string_view symbol) {
    skip_spaces();
    if (static_cast<size_t>(line_end_ - p_) < symbol.size() || std::memcmp(p_, symbol.data(), symbol.size()) != 0)
      return false;
    p_ += symbol.size();
    return true;
  }
  bool next_is_digit() {
    skip_spaces();
    return p_ != line_end_ && *p_ >= '0' && *p_ <= '9';
  }
  char next_char() {
    skip_spaces();
    return p_ == line_end_ ? '\0' : *p_;
  }
  // A number in decimal, at most `most`; `what` names it in the error.
  bool number(uint32_t& value, const char* what, uint32_t most = 0xffffffffu) {
    uint64_t wide = 0;
    if (!number64(wide, what, most)) return false;
    value = static_cast<uint32_t>(wide);
    return true;
  }
  bool number64(uint64_t& value, const char* what, uint64_t most = ~0ull) {
    skip_spaces();
    uint64_t v = 0;
    auto [end, error] = std::from_chars(p_, line_end_, v);
    if (error != std::errc() || v > most || (end != line_end_ && is_word(*end))) return bad_number(what, most);
    p_ = end;
    value = v;
    return true;
  }
  // `r3`: a letter and a number. The rank must be of the world.
  bool id(char letter, uint32_t& value, const char* what);
  bool rank(uint32_t& value, uint32_t ranks);

  // The same, but reports what was seen instead when it is not there.
  bool expect_word(std::string_view expected);
  bool expect(std::string_view symbol);
  bool string(std::string& value);
  // The line must end here.
  bool finish_line();

  // Errors at the next token, at an offset, or over the line.
  bool error(DiagnosticId id, std::string message, std::string hint = {});
  bool error_at(uint32_t offset, DiagnosticId id, std::string message, std::string hint = {});
  uint32_t position() {
    skip_spaces();
    return static_cast<uint32_t>(p_ - text_begin_);
  }
  uint32_t line_position() const { return static_cast<uint32_t>(line_begin_ - text_begin_); }
  std::string seen();  // the next token in backticks, or "the end of the line"

  uint32_t lines_left() const;  // newlines after this one, for reserving memory
  bool failed() const { return errors_ > 0; }
  // Enough errors were collected: the rest would only be counted.
  bool stopped() const { return errors_ >= Diagnostics::kLimit; }

  // First line: `collc <kind> 1`.
  bool first_line(std::string_view kind, uint32_t version);

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c >= 'A' && c <= 'Z');
  }
  void skip_spaces() {
    while (p_ != line_end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r')) ++p_;
  }
  bool bad_number(const char* what, uint64_t most);
  const char* token_end(const char*) const;

  const SourceFile& file_;
  Diagnostics& diagnostics_;
  const char* text_begin_;
  const char* text_end_;
  const char* p_;
  const char* line_begin_;
  const char* line_end_;
  size_t errors_ = 0;
};

// The lines of the head that plan and schedule share, and their order.
class HeadReader {
 public:
  struct Keyword {
    std::string_view word;
    bool repeats;
  };
  // `keywords` in the order that the form demands; the last one begins the body.
  HeadReader(TextReader& reader, std::vector<Keyword> keywords) : reader_(reader), keywords_(std::move(keywords)) {}

  // Reads the first word of a line, finds it among the keywords and checks its turn. Empty: an error was reported.
  std::string_view next();
  bool seen(std::string_view word) const;

  bool contract(Contract&);
  bool ensure(Contract&);
  bool grid(std::vector<Grid>&);
  bool instances(uint32_t&);
  bool only(uint32_t& only_rank, const Contract&);
  bool family(uint64_t&);
  bool file(LineTable&);
  bool line(LineTable&);

  // `what 3` where row 3 is due.
  bool row(size_t due, const char* what, char letter = '\0');
  // After the head: contract and grids are there, promises are of blocks that exist.
  bool complete();

 private:
  TextReader& reader_;
  std::vector<Keyword> keywords_;
  size_t at_ = 0;              // index of the latest keyword
  std::vector<uint8_t> seen_;  // by keyword
};

// Reports each pair of used grids that cover the same elements.
void check_grids(TextReader&, const std::vector<Grid>&, const std::vector<uint32_t>& first_use);
inline constexpr uint32_t kUnused = 0xffffffffu;

// What a table or buffer of `size` has, for messages: "places 0 to 7", "only place 0", "no places".
std::string range_words(uint64_t size, const char* one, const char* many);

}  // namespace coll
