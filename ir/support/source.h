#pragma once
// Source text and places in it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coll {

// One input text with the positions of its lines. Offsets are bytes; lines and columns count from 1, columns in bytes.
// A byte order mark at its start is taken off: no reader has to know it, and columns are those of an editor.
class SourceFile {
 public:
  // Offsets have 32 bits, with room for sums of them. A larger text is left out as a whole: a part of it could pass for
  // something else. Readers refuse it with a diagnostic.
  static constexpr size_t kLargest = size_t{1} << 30;

  SourceFile(std::string name, std::string text, size_t largest = kLargest);

  bool too_large() const { return too_large_; }

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  uint32_t line_count() const { return static_cast<uint32_t>(line_starts_.size()); }
  uint32_t line_of(uint32_t offset) const;
  uint32_t column_of(uint32_t offset) const;
  std::string_view line_text(uint32_t line) const;  // without its newline; empty when out of range

 private:
  std::string name_;
  std::string text_;
  bool too_large_ = false;
  std::vector<uint32_t> line_starts_;
};

// Half-open range of bytes of one file. `file` may be null: a place without text (a command-line option, say).
struct SourceRange {
  const SourceFile* file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// Where a statement came from, kept through both IRs: a file (index into LineTable::files) and a line from 1.
struct SourceLine {
  uint32_t file = 0;
  uint32_t line = 0;
  auto operator<=>(const SourceLine&) const = default;
};

// Interned source lines: statements carry a 32-bit index into it (LineId).
struct LineTable {
  std::vector<std::string> files;
  std::vector<SourceLine> lines;
  std::string describe(uint32_t line_id) const;  // "ring.coll:6", or "?" for no line
  bool operator==(const LineTable&) const = default;
};

}  // namespace coll
