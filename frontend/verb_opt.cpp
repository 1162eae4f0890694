// `collc opt`: the lowering one pass at a time, for tests and for looking.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "frontend/command.h"
#include "frontend/diagnostics.h"
#include "frontend/load.h"
#include "frontend/summary.h"
#include "frontend/units.h"

namespace coll {

namespace {

// The pass after which to stop. `--passes a,b` must name the first passes: each needs what the ones before it make.
std::string read_goal(const std::string& until, const std::string& passes, Report& report) {
  std::vector<std::string> names;
  for (const PassInfo& p : pass_list()) names.push_back(p.name);
  if (!until.empty() && !passes.empty()) {
    report.diagnostics.error(diag::kCommandOptionConflict, {}, "`--until` and `--passes` exclude each other");
    return {};
  }
  if (!until.empty()) {
    (void)read_choice("--until", until, names, report);
    return until;
  }
  if (passes.empty()) return {};
  std::vector<std::string> asked = split(passes, ',');
  for (const std::string& pass : asked)
    if (!read_choice("--passes", pass, names, report)) return {};
  if (asked.size() > names.size() || !std::equal(asked.begin(), asked.end(), names.begin())) {
    report.diagnostics.error(diag::kCommandPassesNotPrefix, {},
                             fmt::format("`--passes {}` leaves out or reorders passes that others need", passes),
                             fmt::format("name the first passes of: {}", fmt::join(names, ",")));
  }
  return asked.back();
}

}  // namespace

int verb_opt(const Verb& verb, const Words& words) {
  ProgramArguments arguments;
  std::string file, until, passes, output = "-";
  bool list = false;
  auto app = make_parser(verb);
  app->add_option("FILE", file, ".coll file, lib:NAME, schedule text, or -")->type_name("");
  app->add_flag("--list", list, "list the passes in their order");
  app->add_option("--until", until, "print the state after this pass (default: the finished plan)")->type_name("PASS");
  app->add_option("--passes", passes, "the same, naming all passes that run")->type_name("A,B");
  app->add_option("-o,--output", output, "file to write (default standard output)")->type_name("F");
  arguments.add(*app);
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  ProgramOptions program = understand(arguments, report);
  const nlohmann::ordered_json failed = {{"ok", false}};
  if (list && report.ok()) {
    if (program.json) {
      nlohmann::ordered_json json = {{"passes", nlohmann::ordered_json::array()}};
      for (const PassInfo& p : pass_list()) json["passes"].push_back({{"name", p.name}, {"what", p.what}});
      print_json(json);
    } else {
      for (const PassInfo& p : pass_list()) fmt::print("{:<16} {}\n", p.name, p.what);
    }
    return kExitRight;
  }
  std::string goal = read_goal(until, passes, report);
  std::optional<Input> input = read_main_input(file, program, report);
  if (input && input->kind == Input::Kind::kPlan) {
    report.diagnostics.error(diag::kCommandWrongInput, {},
                             fmt::format("`{}` is a plan, which has been through all passes", input->name),
                             "give a schedule or a .coll file");
  }
  if (!report.ok()) return report.finish(program.json, failed);

  std::string text;
  bool reached = goal.empty();
  auto after_pass = [&](const std::string& pass, const std::function<std::string()>& print) {
    bool shown = std::find(program.print_after.begin(), program.print_after.end(), pass) != program.print_after.end();
    if (shown) std::fputs(fmt::format("// after {}\n{}", pass, print()).c_str(), stderr);
    if (pass != goal) return;
    text = print();
    reached = true;
  };
  std::optional<Compiled> compiled = compile(*input, program, Goal::kPlan, report, after_pass);
  // What later passes think of the state does not matter when an earlier one was asked for.
  if (!compiled && (goal.empty() || !reached)) return report.finish(program.json, failed);
  if (!reached) {
    report.diagnostics.error(diag::kCommandOptionConflict, {},
                             fmt::format("the pass `{}` does not run with these options", goal));
    return report.finish(program.json, failed);
  }
  if (goal.empty()) text = print_plan(*compiled->plan);
  if (program.time_passes && compiled) std::fputs(show_times(compiled->times).c_str(), stderr);
  // A state is text: with --json it stands in a file, or in the object.
  if (!program.json || output != "-") {
    if (Status status = write_text(output, text); !status.ok()) {
      Report failure;
      failure.fail(status);
      return failure.finish(program.json, failed);
    }
  }
  if (program.json) {
    nlohmann::ordered_json json = {{"ok", true}, {"file", input->name}};
    if (!goal.empty()) json["pass"] = goal;
    if (output == "-") json["text"] = text;
    print_json(json);
  }
  return kExitRight;
}

}  // namespace coll
