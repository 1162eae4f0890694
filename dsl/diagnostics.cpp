#include "dsl/diagnostics.h"

namespace coll::dsl {

namespace {

constexpr size_t kLongestQuote = 100;
constexpr size_t kLongestWord = 64;  // the search for a near word takes the product of two lengths

}  // namespace

std::string quoted(std::string_view text) {
  std::string s(1, '`');
  for (char c : text) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (blank && s.back() == ' ') continue;
    s.push_back(blank ? ' ' : c);
    if (s.size() > kLongestQuote) {
      while ((static_cast<unsigned char>(s.back()) & 0xc0) == 0x80) s.pop_back();  // characters stay whole
      if (static_cast<unsigned char>(s.back()) >= 0xc0) s.pop_back();
      s.append("...");
      break;
    }
  }
  s.push_back('`');
  return s;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const Diagnostics& diagnostics) {
  if (diagnostics.error_count() >= Diagnostics::kLimit || word.size() > kLongestWord) return {};
  std::vector<std::string> near_ones;
  for (const std::string& c : candidates)
    if (c.size() <= 2 * kLongestWord && c != word) near_ones.push_back(c);
  std::string near = nearest(word, near_ones);
  return near.empty() ? std::string() : "did you mean " + quoted(near) + "?";
}

}  // namespace coll::dsl
