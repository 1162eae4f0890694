#include "ir/support/diagnostic.h"

#include <algorithm>
#include <string_view>

namespace coll {

namespace {

Diagnostic& add(std::vector<Diagnostic>& list, Diagnostic& dropped, Diagnostic d) {
  if (list.size() >= Diagnostics::kLimit) return dropped = std::move(d);
  list.push_back(std::move(d));
  return list.back();
}

// Bytes of the character at the start of `s` that a terminal shows as one; 0 where it would do anything else: control
// characters, among them those past ASCII, marks that turn the direction of text, and what is not UTF-8.
size_t printable(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  bool controls = code < 0xa0 || code == 0x2028 || code == 0x2029;
  return overlong || surrogate || turns || controls || code > 0x10ffff ? 0 : length;
}

std::string escape(char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

std::string shown(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = printable(text.substr(i));
    if (length == 0 && (text[i] == '\n' || text[i] == '\t')) length = 1;
    out += length == 0 ? escape(text[i]) : std::string(text.substr(i, length));
    i += std::max<size_t>(1, length);
  }
  return out;
}

std::string place(const SourceRange& range) {
  if (range.file == nullptr) return "collc: ";
  return shown(range.file->name()) + ":" + std::to_string(range.file->line_of(range.begin)) + ":" +
         std::to_string(range.file->column_of(range.begin)) + ": ";
}

// The source line of a range with a caret under its first byte and tildes to its end (clipped to that line). One
// column for each character: tabs are repeated in the line of marks, escapes take as many marks as they are long.
std::string caret(const SourceRange& range) {
  if (range.file == nullptr) return {};
  uint32_t line = range.file->line_of(range.begin);
  size_t begin = range.file->column_of(range.begin) - 1;
  size_t end = begin + std::max<size_t>(1, range.end > range.begin ? range.end - range.begin : 1);
  std::string_view text = range.file->line_text(line);
  constexpr size_t kWidest = 160;
  auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };  // a character
  size_t at = 0, stop = text.size();
  if (text.size() > kWidest) {  // a very long line: show the window round the caret
    at = begin > kWidest / 2 ? std::min(begin - kWidest / 2, text.size()) : 0;
    stop = std::min(at + kWidest, text.size());
    // Whole characters: these have 3 bytes at most behind their first.
    for (int i = 0; i < 3 && at > 0 && at < text.size() && inside(text[at]); ++i) ++at;
    for (int i = 0; i < 3 && stop < text.size() && inside(text[stop]); ++i) --stop;
  }
  std::string out, marks;
  bool marked = false;
  while (at < stop) {
    size_t length = printable(text.substr(at, stop - at));
    std::string one = length != 0        ? std::string(text.substr(at, length))
                      : text[at] == '\t' ? std::string(1, '\t')
                                         : escape(text[at]);
    size_t columns = length != 0 ? 1 : one.size(), next = at + std::max<size_t>(1, length);
    out += one;
    if (next <= begin) {
      marks.append(columns, one == "\t" ? '\t' : ' ');
    } else if (at < end) {
      marks.append(columns, '~');
      if (!marked) marks[marks.size() - columns] = '^';
      marked = true;
    }
    at = next;
  }
  if (!marked) marks += '^';  // behind the line's last byte
  return "  " + out + "\n  " + marks + "\n";
}

}  // namespace

Diagnostic& Diagnostics::error(DiagnosticId id, SourceRange range, std::string message, std::string hint) {
  ++errors_;
  return add(list_, dropped_, {Severity::kError, id.name, range, std::move(message), std::move(hint), {}});
}

Diagnostic& Diagnostics::warning(DiagnosticId id, SourceRange range, std::string message, std::string hint) {
  return add(list_, dropped_, {Severity::kWarning, id.name, range, std::move(message), std::move(hint), {}});
}

std::string render(const Diagnostic& d) {
  std::string out = place(d.range);
  out += d.severity == Severity::kError ? "error: " : "warning: ";
  out += shown(d.message) + " [" + d.id + "]\n" + caret(d.range);
  if (!d.hint.empty()) out += "  hint: " + shown(d.hint) + "\n";
  for (const DiagnosticNote& note : d.notes) {
    out += place(note.range) + "note: " + shown(note.message) + "\n" + caret(note.range);
  }
  return out;
}

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic& d : list_) out += coll::render(d);
  size_t errors_shown = 0;
  for (const Diagnostic& d : list_) errors_shown += d.severity == Severity::kError;
  if (errors_ > errors_shown) out += "collc: " + std::to_string(errors_ - errors_shown) + " more errors not shown\n";
  return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t substitute = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row[candidate.size()] < best_distance) {
      best_distance = row[candidate.size()];
      best = candidate;
    }
  }
  return best;
}

}  // namespace coll
