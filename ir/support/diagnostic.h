#pragma once
// Diagnostics: what the author of a program or file is told. All of them are collected, not only the first.
//
// Each kind of diagnostic has an id in a `diagnostics.def` of the folder that reports it (dsl/, ir/, passes/,
// frontend/); a test checks that every id listed there is earned by a file under tests/bad.
// Wording: lower case, no full stop; what was seen, then the rule, then a hint; the user's code in backticks.
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/source.h"

namespace coll {

struct DiagnosticId {
  const char* name;  // snake_case, unique over all folders
};

enum class Severity { kError, kWarning };

struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  const char* id = "";
  SourceRange range;
  std::string message;
  std::string hint;  // may be empty
  std::vector<DiagnosticNote> notes;
};

class Diagnostics {
 public:
  // Reports an error and returns it, so that notes and a hint can be added. Past `kLimit` errors the rest are counted
  // only (a scratch diagnostic is returned).
  Diagnostic& error(DiagnosticId id, SourceRange range, std::string message, std::string hint = {});
  Diagnostic& warning(DiagnosticId id, SourceRange range, std::string message, std::string hint = {});

  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return list_; }

  // "file:line:col: error: message [id]", the line with a caret, the hint, the notes; for each diagnostic. What a
  // terminal would obey instead of show (control characters, bytes that are no UTF-8) is written as `\x1b`.
  std::string render() const;

  static constexpr size_t kLimit = 100;

 private:
  std::vector<Diagnostic> list_;
  Diagnostic dropped_;
  size_t errors_ = 0;
};

std::string render(const Diagnostic&);

// The candidate nearest to `word` in edit distance (at most a third of its length, at least 1), for "did you mean";
// empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace coll
