#include "frontend/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "frontend/diagnostics.h"

namespace coll {

namespace {

struct Digits {
  uint64_t value = 0;
  bool overflow = false;
  std::string_view rest;
};

// Leading decimal digits of `text`; nullopt when there is none.
std::optional<Digits> leading_digits(std::string_view text) {
  Digits d;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d.value);
  if (end == text.data()) return std::nullopt;
  d.overflow = error == std::errc::result_out_of_range;
  d.rest = text.substr(static_cast<size_t>(end - text.data()));
  return d;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Exponent of two of a size suffix.
std::optional<int> suffix_shift(std::string_view text) {
  std::string s = lower_case(text);
  if (s.empty() || s == "b") return 0;
  constexpr std::string_view kUnits = "kmgt";
  size_t unit = kUnits.find(s[0]);
  std::string tail = s.substr(1);
  if (unit == std::string_view::npos || (!tail.empty() && tail != "b" && tail != "ib")) return std::nullopt;
  return static_cast<int>(unit + 1) * 10;
}

}  // namespace

uint64_t read_number(const std::string& option, const std::string& text, uint64_t lowest, uint64_t highest,
                     Report& report) {
  std::optional<Digits> d = leading_digits(text);
  if (!d || !d->rest.empty()) {
    report.diagnostics.error(diag::kCommandBadNumber, {},
                             fmt::format("`{}` is `{}`, which is not a whole number", option, text),
                             fmt::format("give a number from {} to {}", lowest, highest));
    return lowest;
  }
  if (d->overflow || d->value < lowest || d->value > highest) {
    report.diagnostics.error(diag::kCommandBadNumber, {}, fmt::format("`{}` is {}, out of its range", option, text),
                             fmt::format("give a number from {} to {}", lowest, highest));
    return lowest;
  }
  return d->value;
}

uint64_t read_size(const std::string& option, const std::string& text, Report& report) {
  std::optional<Digits> d = leading_digits(text);
  std::optional<int> shift = d ? suffix_shift(d->rest) : std::nullopt;
  if (!d || !shift) {
    report.diagnostics.error(diag::kCommandBadSize, {}, fmt::format("`{}` has `{}`, which is not a size", option, text),
                             "sizes are whole numbers of bytes with an optional K, M, G or T (1,024-fold), as `64M`");
    return 0;
  }
  if (d->overflow || d->value > (kLargestSize >> *shift)) {
    report.diagnostics.error(diag::kCommandBadSize, {}, fmt::format("`{}` has `{}`, which is too large", option, text),
                             "the largest size is 1024T");
    return 0;
  }
  return d->value << *shift;
}

std::vector<uint64_t> read_sizes(const std::string& option, const std::string& text, Report& report) {
  std::vector<uint64_t> sizes;
  for (const std::string& piece : split(text, ',')) {
    size_t dots = piece.find("..");
    if (dots == std::string::npos) {
      sizes.push_back(read_size(option, piece, report));
      continue;
    }
    if (dots == 0 || dots + 2 == piece.size()) {
      report.diagnostics.error(
          diag::kCommandBadSize, {},
          fmt::format("`{}` has `{}`, a range without its {}", option, piece, dots == 0 ? "start" : "end"),
          "a range doubles from its start up to its end, as `8..1G`");
      continue;
    }
    size_t errors = report.diagnostics.error_count();
    uint64_t first = read_size(option, piece.substr(0, dots), report);
    uint64_t last = read_size(option, piece.substr(dots + 2), report);
    if (report.diagnostics.error_count() != errors) continue;
    if (first > last) {
      report.diagnostics.error(diag::kCommandBadSize, {},
                               fmt::format("`{}` has `{}`, whose end is below its start", option, piece),
                               "a range doubles from its start up to its end, as `8..1G`");
    } else if (first == 0) {
      sizes.push_back(0);
      first = 1;
    }
    for (uint64_t s = first; s <= last && s != 0; s *= 2) sizes.push_back(s);
  }
  return sizes;
}

uint64_t read_milliseconds(const std::string& option, const std::string& text, Report& report) {
  constexpr uint64_t kDay = 24ull * 3600 * 1000;
  std::optional<Digits> d = leading_digits(text);
  uint64_t unit = 0;
  if (d) {
    unit = d->rest.empty() || d->rest == "s" ? 1000 : d->rest == "ms" ? 1 : d->rest == "m" ? 60000 : 0;
  }
  if (!d || unit == 0 || d->overflow || d->value == 0 || d->value > kDay / unit) {
    report.diagnostics.error(diag::kCommandBadDuration, {},
                             fmt::format("`{}` is `{}`, which is not a time", option, text),
                             "times are whole numbers of seconds, or with `ms`, `s` or `m`, above 0 and up to a day");
    return 1000;
  }
  return d->value * unit;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (true) {
    size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string show_bytes(uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kNames[unit]);
}

std::string counted(uint64_t n, const std::string& noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::string near_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string near = nearest(word, candidates);
  for (size_t i = 0; near.empty() && i + 1 < word.size(); ++i) {
    std::string swapped(word);
    std::swap(swapped[i], swapped[i + 1]);
    if (std::find(candidates.begin(), candidates.end(), swapped) != candidates.end()) near = swapped;
  }
  return near;
}

std::optional<size_t> read_choice(const std::string& option, const std::string& text,
                                  const std::vector<std::string>& words, Report& report) {
  auto it = std::find(words.begin(), words.end(), text);
  if (it != words.end()) return static_cast<size_t>(it - words.begin());
  std::string near = near_word(text, words);
  std::string hint = near.empty() ? fmt::format("one of: {}", fmt::join(words, ", "))
                                  : fmt::format("did you mean `{}`; one of: {}", near, fmt::join(words, ", "));
  report.diagnostics.error(diag::kCommandUnknownChoice, {},
                           fmt::format("`{}` is `{}`, which is not known", option, text), hint);
  return std::nullopt;
}

}  // namespace coll
