// `collc check`: proves or refuses every algorithm and plan it is given, each with its own verdict.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "frontend/command.h"
#include "frontend/diagnostics.h"
#include "frontend/limits.h"
#include "frontend/load.h"
#include "frontend/summary.h"
#include "frontend/units.h"

namespace coll {

namespace {

// What the files came to. A refusal outweighs bad input, which outweighs an unreadable file: the first is an answer.
struct Totals {
  uint32_t proved = 0, refused = 0, not_compiled = 0, not_read = 0;
  bool bad_input = false, machine = false;
  uint32_t all() const { return proved + refused + not_compiled + not_read; }
  std::string line() const {
    std::string text = fmt::format("{} proved, {} refused", proved, refused);
    if (not_compiled != 0) text += fmt::format(", {} not compiled", not_compiled);
    if (not_read != 0) text += fmt::format(", {} not read", not_read);
    return text;
  }
  int exit_status() const {
    return refused != 0 ? kExitNo : bad_input ? kExitBadInput : machine ? kExitMachine : kExitRight;
  }
};

class Checker {
 public:
  Checker(const ProgramOptions& program, std::vector<TargetLimits> limits)
      : program_(program), limits_(std::move(limits)) {
    if (limits_.empty()) limits_.emplace_back();
  }

  void check_file(const std::string& argument);
  const Totals& totals() const { return totals_; }
  const nlohmann::ordered_json& results() const { return results_; }

 private:
  void check_one(const Input&, const ProgramOptions&);
  void judge(const Input&, const Compiled&, const TargetLimits&);
  int close(const Report& report) {
    int status = report.finish();
    totals_.bad_input = totals_.bad_input || status == kExitBadInput;
    totals_.machine = totals_.machine || status == kExitMachine;
    return status;
  }
  // What has no plan to judge: a row that says why.
  void close_without_plan(const std::string& file, const std::string& algorithm, const Report& report) {
    bool unread = close(report) == kExitMachine;
    ++(unread ? totals_.not_read : totals_.not_compiled);
    nlohmann::ordered_json row = {{"file", file}};
    if (!algorithm.empty()) row["algorithm"] = algorithm;
    row["verdict"] = unread ? "not read" : "not compiled";
    report.add_to(row);
    results_.push_back(std::move(row));
  }

  const ProgramOptions& program_;
  std::vector<TargetLimits> limits_;
  Totals totals_;
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
};

void Checker::check_file(const std::string& argument) {
  Report report;
  std::optional<Input> input = read_input(argument, report);
  if (!input) return close_without_plan(argument, {}, report);
  if (input->kind != Input::Kind::kProgram || !program_.algorithm.empty()) return check_one(*input, program_);
  std::optional<std::vector<AlgorithmInfo>> all = algorithms_of(*input, report);
  if (!all) return close_without_plan(input->name, {}, report);
  if (all->empty()) {
    report.diagnostics.error(diag::kCommandNoAlgorithm, {}, fmt::format("`{}` has no algorithm", input->name),
                             "write `algorithm name implements allreduce { ... }`");
    return close_without_plan(input->name, {}, report);
  }
  // A parameter goes to those algorithms of the file that have it.
  auto has = [](const AlgorithmInfo& a, const std::string& parameter) {
    return std::any_of(a.parameters.begin(), a.parameters.end(), [&](const auto& p) { return p.first == parameter; });
  };
  for (const auto& [parameter, value] : program_.parameters) {
    if (std::any_of(all->begin(), all->end(), [&](const AlgorithmInfo& a) { return has(a, parameter); })) continue;
    report.diagnostics.error(diag::kCommandUnknownParameter, {},
                             fmt::format("no algorithm of `{}` has a parameter `{}`", input->name, parameter));
  }
  if (!report.ok()) return close_without_plan(input->name, {}, report);
  close(report);  // warnings of the parse
  for (const AlgorithmInfo& a : *all) {
    ProgramOptions one = program_;
    one.algorithm = a.name;
    std::erase_if(one.parameters, [&](const auto& p) { return !has(a, p.first); });
    // Roots and pairs are for those that have them.
    bool pair = a.contract == "sendrecv";
    if (!pair) one.source = one.destination = std::nullopt;
    if (pair) one.root = std::nullopt;
    check_one(*input, one);
  }
}

void Checker::check_one(const Input& input, const ProgramOptions& options) {
  Report report;
  std::optional<Compiled> compiled = compile(input, options, Goal::kPlan, report);
  bool good = compiled && require_whole(input, *compiled->plan, report);
  if (!good) return close_without_plan(input.name, options.algorithm, report);
  if (!report.diagnostics.all().empty()) close(report);
  for (const TargetLimits& l : limits_) judge(input, *compiled, l);
}

void Checker::judge(const Input& input, const Compiled& compiled, const TargetLimits& limits) {
  VerifyOptions options;
  options.slots = program_.lower.slots;
  options.limits = limits;
  double seconds = 0;
  VerifyResult result = verify_aloud(*compiled.plan, options, seconds);
  ++(result.ok() ? totals_.proved : totals_.refused);
  if (program_.time_passes) {
    std::vector<PassTime> times = compiled.times;
    times.push_back({"verify", seconds});
    std::fputs(show_times(times).c_str(), stderr);
  }
  const Plan& plan = *compiled.plan;
  nlohmann::ordered_json row = {{"file", input.name},    {"algorithm", plan.name}, {"collective", plan.contract.name},
                                {"ranks", plan.ranks()}, {"slots", options.slots}, {"seconds", seconds}};
  if (!limits.name.empty()) row["limits"] = limits.name;
  row.update(to_json(result));
  results_.push_back(std::move(row));
  if (program_.json) return;
  std::string where =
      fmt::format("{}: {} ({}), {}{}", input.name, plan.name, plan.contract.name, counted(plan.ranks(), "rank"),
                  limits.name.empty() ? "" : ", limits of " + limits.name);
  if (result.ok()) {
    fmt::print("{}: {}: {}\n", where, green("proved", STDOUT_FILENO), proof_line(result));
  } else {
    std::string story = render(result);
    size_t colon = story.find(':');  // the verdict's words
    if (colon != std::string::npos) story = red(story.substr(0, colon), STDOUT_FILENO) + story.substr(colon);
    fmt::print("{}: {}", where, story);
    if (story.empty() || story.back() != '\n') fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace

int verb_check(const Verb& verb, const Words& words) {
  ProgramArguments arguments;
  Words files;
  std::string limits_text;
  auto app = make_parser(verb);
  app->add_option("FILE", files, ".coll files (every algorithm), lib:NAME, saved plans, or -")->type_name("");
  app->add_option("--limits", limits_text, "also within the limits of: msccl, msccl-azure, mscclpp, cuda")
      ->type_name("A,B");
  arguments.add(*app);
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  ProgramOptions program = understand(arguments, report);
  std::vector<TargetLimits> limits = read_limits(limits_text, report);
  if (program.algorithm.starts_with("lib:")) {
    files.push_back(program.algorithm);
    program.algorithm.clear();
  }
  if (files.empty())
    report.diagnostics.error(diag::kCommandMissingFile, {}, "no FILE was given",
                             "name .coll files, saved plans or `lib:NAME`");
  if (!report.ok()) return report.finish(program.json, {{"ok", false}, {"results", nlohmann::ordered_json::array()}});

  Checker checker(program, std::move(limits));
  for (const std::string& file : files) checker.check_file(file);
  const Totals& totals = checker.totals();
  if (program.json) {
    nlohmann::ordered_json json = {{"ok", totals.exit_status() == kExitRight}, {"results", checker.results()}};
    print_json(json);
  } else if (totals.all() > 1) {
    fmt::print("{}\n", totals.line());
  }
  return totals.exit_status();
}

}  // namespace coll
