#include "frontend/report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "frontend/progress.h"

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

namespace {

Json to_json(const Diagnostic& d) {
  Json j = {{"severity", d.severity == Severity::kError ? "error" : "warning"},
            {"file", nullptr},
            {"line", nullptr},
            {"column", nullptr},
            {"id", d.id},
            {"message", d.message},
            {"hint", d.hint}};
  if (d.range.file == nullptr) return j;  // the command line
  j["file"] = d.range.file->name();
  j["line"] = d.range.file->line_of(d.range.begin);
  j["column"] = d.range.file->column_of(d.range.begin);
  return j;
}

const char* name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalid:
      return "invalid";
    case StatusCode::kTimeout:
      return "timeout";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kFile:
      return "file";
    case StatusCode::kAborted:
      return "aborted";
  }
  return "";
}

}  // namespace

void print_json(const Json& json) {
  clear_progress();
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

Json error_json(StatusCode code, const std::string& message) { return {{"code", name(code)}, {"message", message}}; }

void Report::add_to(Json& object) const {
  for (const Diagnostic& d : diagnostics.all()) object["diagnostics"].push_back(to_json(d));
  if (failures_.empty()) return;
  // What failed first; later failures are its consequences more often than not, and standard error has them all.
  object["error"] = error_json(failures_[0].code(), failures_[0].message());
}

int Report::finish(bool json, Json object) const {
  if (json) {
    add_to(object);
    print_json(object);
  }
  return finish();
}

int Report::finish() const {
  clear_progress();
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
