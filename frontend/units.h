#pragma once
// Numbers, sizes, times and lists as they are written on the command line. Every reader reports what it saw, the rule
// and a hint, and gives a harmless value then, so that one run tells all faults.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/report.h"

namespace coll {

// A whole number in [lowest, highest], decimal digits only.
uint64_t read_number(const std::string& option, const std::string& text, uint64_t lowest, uint64_t highest, Report&);

// Bytes: digits with an optional suffix K, M, G, T (powers of 1,024 as in nccl-tests; `KiB` and lower case as well).
uint64_t read_size(const std::string& option, const std::string& text, Report&);

// `8..1G` (doubling from the first, not past the last), or a comma list of sizes.
std::vector<uint64_t> read_sizes(const std::string& option, const std::string& text, Report&);

// `30` or `30s` seconds, `500ms`, `2m`; at most a day. In milliseconds.
uint64_t read_milliseconds(const std::string& option, const std::string& text, Report&);

std::vector<std::string> split(std::string_view text, char separator);

// 1536 -> "1.5 KiB".
std::string show_bytes(uint64_t bytes);

// "1 rank", "2 ranks".
std::string counted(uint64_t n, const std::string& noun);

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words);

// nearest(), but two neighbouring letters that changed places are near in a short word as well.
std::string near_word(std::string_view word, const std::vector<std::string>& candidates);

// A word out of a list: index into `words`, or nullopt with a diagnostic that lists them.
std::optional<size_t> read_choice(const std::string& option, const std::string& text,
                                  const std::vector<std::string>& words, Report&);

// Largest size that any option may name: keeps every later product inside 64 bits.
inline constexpr uint64_t kLargestSize = uint64_t{1} << 50;

}  // namespace coll
