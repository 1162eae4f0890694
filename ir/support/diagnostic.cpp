#include "ir/support/diagnostic.h"

#include <algorithm>

namespace coll {

namespace {

Diagnostic& add(std::vector<Diagnostic>& list, Diagnostic& dropped, Diagnostic d) {
  if (list.size() >= Diagnostics::kLimit) return dropped = std::move(d);
  list.push_back(std::move(d));
  return list.back();
}

std::string place(const SourceRange& range) {
  if (range.file == nullptr) return "collc: ";
  return range.file->name() + ":" + std::to_string(range.file->line_of(range.begin)) + ":" +
         std::to_string(range.file->column_of(range.begin)) + ": ";
}

// The source line of a range with a caret under its first byte and tildes to its end (clipped to that line).
std::string caret(const SourceRange& range) {
  if (range.file == nullptr) return {};
  uint32_t line = range.file->line_of(range.begin);
  uint32_t column = range.file->column_of(range.begin);
  std::string text(range.file->line_text(line));
  constexpr size_t kWidest = 160;
  size_t shift = 0;
  if (text.size() > kWidest) {  // a very long line: show the window round the caret
    shift = column > kWidest / 2 ? column - kWidest / 2 : 0;
    text = text.substr(std::min(shift, text.size()), kWidest);
  }
  std::string marks;
  for (size_t i = 0; i + 1 + shift < column; ++i) marks += i < text.size() && text[i] == '\t' ? '\t' : ' ';
  marks += '^';
  uint32_t length = range.end > range.begin ? range.end - range.begin : 1;
  for (uint32_t i = 1; i < length && marks.size() < text.size(); ++i) marks += '~';
  return "  " + text + "\n  " + marks + "\n";
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
  out += d.message + " [" + d.id + "]\n" + caret(d.range);
  if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
  for (const DiagnosticNote& note : d.notes) {
    out += place(note.range) + "note: " + note.message + "\n" + caret(note.range);
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
