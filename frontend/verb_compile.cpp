// `collc compile`: the syntax tree, the schedule or the verified plan as text.
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

enum class Emit { kAst, kSchedule, kIr, kPlan };
// Forms of later versions, so that asking for one says so.
const std::vector<std::string> kLaterForms = {"bundle",    "cuda",         "ptx", "cubin",
                                              "msccl-xml", "mscclpp-json", "csv", "csv-comms"};

std::optional<Emit> read_emit(const std::string& text, Report& report) {
  if (text.empty()) return Emit::kPlan;
  if (std::find(kLaterForms.begin(), kLaterForms.end(), text) != kLaterForms.end()) {
    report.diagnostics.error(diag::kCommandOptionNotAvailable, {},
                             fmt::format("`--emit {}` is not available in this version of collc", text),
                             "there are ast, schedule (or ir) and plan");
    return std::nullopt;
  }
  auto choice = read_choice("--emit", text, {"ast", "schedule", "ir", "plan"}, report);
  if (!choice) return std::nullopt;
  return static_cast<Emit>(*choice);
}

}  // namespace

int verb_compile(const Verb& verb, const Words& words) {
  ProgramArguments arguments;
  std::string file, emit_text, output = "-", rank;
  bool no_verify = false;
  auto app = make_parser(verb);
  app->add_option("FILE", file, ".coll file, lib:NAME, saved plan or schedule, or -")->type_name("");
  app->add_option("--emit", emit_text, "ast, schedule (or ir), plan (default plan)")->type_name("FORM");
  app->add_option("-o,--output", output, "file to write (default standard output)")->type_name("F");
  app->add_option("--rank", rank, "only this rank's part, not verified alone")->type_name("R");
  app->add_flag("--no-verify", no_verify, "do not verify the plan");
  arguments.add(*app);
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  ProgramOptions program = understand(arguments, report);
  if (!rank.empty()) program.only_rank = static_cast<uint32_t>(read_number("--rank", rank, 0, kMostRanks - 1, report));
  std::optional<Emit> emit = read_emit(emit_text, report);
  std::optional<Input> input = read_main_input(file, program, report);
  nlohmann::ordered_json json = {{"ok", false}};
  if (input) json["file"] = input->name;
  if (!report.ok()) return report.finish(program.json, json);
  Goal goal = *emit == Emit::kAst ? Goal::kAst : *emit == Emit::kPlan ? Goal::kPlan : Goal::kSchedule;
  std::optional<Compiled> compiled = compile(*input, program, goal, report);
  if (!compiled) {
    json["verdict"] = "not compiled";
    return report.finish(program.json, json);
  }

  std::string text;
  bool proved = true;
  switch (*emit) {
    case Emit::kAst:
      text = print_ast(*compiled->file);
      break;
    case Emit::kSchedule:
    case Emit::kIr:
      text = print_schedule(*compiled->schedule);
      json["algorithm"] = compiled->schedule->name;
      json["collective"] = compiled->schedule->contract.name;
      json["ranks"] = compiled->schedule->ranks();
      json["statements"] = compiled->schedule->ops.size();
      break;
    case Emit::kPlan: {
      const Plan& plan = *compiled->plan;
      json["algorithm"] = plan.name;
      json["collective"] = plan.contract.name;
      json["ranks"] = plan.ranks();
      json.update(to_json(summarize(plan)));
      json["undone_fusions"] = compiled->undone_fusions;
      if (plan.only_rank != kAllRanks) {
        std::fprintf(stderr, "collc: note: the part of rank %u; not verified alone\n", plan.only_rank);
        json["only_rank"] = plan.only_rank;
      } else if (!no_verify) {
        VerifyOptions options;
        options.slots = program.lower.slots;
        double seconds = 0;
        VerifyResult proof = verify_aloud(plan, options, seconds);
        compiled->times.push_back({"verify", seconds});
        proved = proof.ok();
        put_verdict(json, proof);
        if (!proved) std::fputs(render(proof).c_str(), stderr);
      }
      if (proved && (!program.json || output != "-")) text = print_plan(plan);
      break;
    }
  }
  json["passes_ms"] = to_json(compiled->times);
  if (program.time_passes) std::fputs(show_times(compiled->times).c_str(), stderr);
  // A refused plan is not written: nobody should find it later and run it.
  if (proved && (!program.json || output != "-")) {
    if (Status status = write_text(output, text); !status.ok()) report.fail(status);
  }
  json["ok"] = proved && report.ok();
  int status = report.finish(program.json, json);
  return status != kExitRight ? status : proved ? kExitRight : kExitNo;
}

}  // namespace coll
