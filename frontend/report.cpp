#include "frontend/report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace coll {

namespace {

std::string coloured(const std::string& text, const char* code, int file_descriptor) {
  if (!wants_colour(file_descriptor)) return text;
  return std::string("\033[1;") + code + "m" + text + "\033[0m";
}

// Paints the word after the place in the first line of a rendered diagnostic.
std::string painted(std::string text) {
  for (const char* word : {": error: ", ": warning: "}) {
    size_t at = text.find(word);
    if (at == std::string::npos || at > text.find('\n')) continue;
    std::string label = std::string(word).substr(2, std::string(word).size() - 4);
    text.replace(at + 2, label.size(), coloured(label, label == "error" ? "31" : "35", STDERR_FILENO));
    break;
  }
  return text;
}

}  // namespace

bool wants_colour(int file_descriptor) { return isatty(file_descriptor) != 0 && std::getenv("NO_COLOR") == nullptr; }

std::string red(const std::string& text, int file_descriptor) { return coloured(text, "31", file_descriptor); }
std::string green(const std::string& text, int file_descriptor) { return coloured(text, "32", file_descriptor); }

int Report::finish() const {
  std::fflush(stdout);
  std::string text;
  if (wants_colour(STDERR_FILENO)) {
    for (const Diagnostic& d : diagnostics.all()) text += painted(render(d));
    size_t shown = 0;
    for (const Diagnostic& d : diagnostics.all()) shown += d.severity == Severity::kError;
    if (diagnostics.error_count() > shown)
      text += "collc: " + std::to_string(diagnostics.error_count() - shown) + " more errors not shown\n";
  } else {
    text = diagnostics.render();
  }
  bool machine = false, input = diagnostics.has_errors();
  for (const Status& s : failures_) {
    text += painted("collc: error: " + s.message() + "\n");
    (s.code() == StatusCode::kInvalid ? input : machine) = true;
  }
  std::fputs(text.c_str(), stderr);
  return machine ? kExitMachine : input ? kExitBadInput : kExitRight;
}

}  // namespace coll
