// The front end on .coll text: parse, format, elaborate every algorithm on a few ranks. It answers whatever comes in; a
// refusal says why and where; formatting is idempotent and keeps the meaning; a schedule prints and reads back.
#include "dsl/frontend.h"
#include "ir/plan_text.h"
#include "tests/fuzz/fuzz_driver.h"

namespace coll {
namespace {

std::string refusal(const SourceFile& file, const Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) return "refused without a diagnostic";
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.range.file != nullptr && d.range.begin > file.text().size())
      return "a diagnostic beyond the text: " + d.message;
    if (d.message.empty()) return "a diagnostic that says nothing";
  }
  if (diagnostics.all()[0].range.file != &file) return "first diagnostic has no place: " + diagnostics.all()[0].message;
  return diagnostics.render().empty() ? "a refusal that renders to nothing" : "";
}

std::string check_format(const SourceFile& file, bool parses) {
  Diagnostics diagnostics;
  std::optional<std::string> once = format(file, diagnostics);
  if (!once) return parses ? "what parses does not format: " + diagnostics.render() : refusal(file, diagnostics);
  SourceFile formatted("formatted.coll", *once);
  std::optional<std::string> twice = format(formatted, diagnostics);
  if (!twice) return "what was formatted does not parse: " + diagnostics.render();
  return *twice == *once ? "" : "formatting twice gives other bytes";
}

std::string check_schedule(const Schedule& schedule) {
  std::string text = print_schedule(schedule);
  SourceFile again("printed", text);
  Diagnostics diagnostics;
  std::optional<Schedule> back = parse_schedule(again, diagnostics);
  if (!back) return "its schedule's print is refused: " + diagnostics.render();
  return print_schedule(*back) == text ? "" : "print, read, print of its schedule gives other bytes";
}

FuzzOutcome check(const std::string& name, const std::string& text) {
  SourceFile file(name, text);
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> parsed = parse(file, diagnostics);
  bool parses = parsed != nullptr && !diagnostics.has_errors();
  if (!parses) {
    if (std::string why = refusal(file, diagnostics); !why.empty()) return {false, why};
    return {false, check_format(file, false)};
  }
  if (std::string why = check_format(file, true); !why.empty()) return {true, why};
  if (print_ast(*parsed).empty()) return {true, "what parses prints as no tree"};
  bool elaborated = false;
  for (const AlgorithmInfo& algorithm : algorithms(*parsed)) {
    for (uint32_t ranks : {2u, 4u, 7u}) {
      ElaborateOptions options;
      options.algorithm = algorithm.name;
      options.ranks = ranks;
      options.root = ranks - 1;
      options.machine = MachineView::uniform(ranks, ranks == 4 ? 2 : 1);
      // A loop over billions is no fault of the elaborator: it must stop at its limits, and these are quickly reached.
      options.max_steps = 200'000;
      options.max_ops = 20'000;
      Diagnostics faults;
      std::optional<Schedule> schedule = elaborate(*parsed, options, faults);
      if (schedule.has_value() == faults.has_errors()) return {true, "an answer and errors, or neither"};
      if (!schedule) continue;
      elaborated = true;
      if (std::string why = check_schedule(*schedule); !why.empty()) return {true, why};
    }
  }
  return {elaborated, ""};
}

}  // namespace
}  // namespace coll

int main(int argc, char** argv) { return coll::fuzz_main(argc, argv, coll::check); }
