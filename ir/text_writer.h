#pragma once
// Appends words and numbers to one string: the whole of what the printers need, without a format string per token
// (two million instructions print in under a second).
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/contract.h"
#include "ir/extent.h"
#include "ir/support/source.h"

namespace coll {

class TextWriter {
 public:
  TextWriter& operator<<(std::string_view s) {
    out_.append(s);
    return *this;
  }
  TextWriter& operator<<(char c) {
    out_.push_back(c);
    return *this;
  }
  TextWriter& operator<<(uint64_t v) {
    char buffer[20];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
    out_.append(buffer, static_cast<size_t>(end - buffer));
    return *this;
  }
  TextWriter& operator<<(uint32_t v) { return *this << static_cast<uint64_t>(v); }
  TextWriter& operator<<(uint16_t v) { return *this << static_cast<uint64_t>(v); }
  TextWriter& quoted(std::string_view);              // "..." with escapes
  TextWriter& ranks(uint32_t first, uint32_t last);  // r3, or r3..r7

  void reserve(size_t bytes) { out_.reserve(bytes); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Lines of the head that plan and schedule share.
void print_contract(TextWriter&, const Contract&);
void print_grids(TextWriter&, const std::vector<Grid>&, uint32_t instances);
void print_part_of_family(TextWriter&, uint32_t only_rank, uint64_t family_hash);
void print_lines(TextWriter&, const LineTable&);

}  // namespace coll
