#pragma once
// From a FILE on the command line to a lowered plan, the same for every verb: what FILE may be, the options that say
// which program is meant, and the road parse, elaborate, lower.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/frontend.h"
#include "frontend/command.h"
#include "frontend/report.h"
#include "ir/plan.h"
#include "ir/schedule.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {

// A text that was read. `kProgram` is .coll; the other two are told by their first line.
struct Input {
  enum class Kind { kProgram, kSchedule, kPlan } kind = Kind::kProgram;
  std::string name;                        // as in messages
  std::shared_ptr<const SourceFile> file;  // diagnostics point into it
  bool library = false;
};

// FILE, `lib:NAME` or `-`. nullopt with a report otherwise.
std::optional<Input> read_input(const std::string& argument, Report&);

// Reads a whole file, or standard input for `-`.
Status read_text(const std::string& path, std::string& text);
// Writes a whole file, or standard output for `-`.
Status write_text(const std::string& path, const std::string& text);

// Options of all verbs that compile, as typed. add() declares those that the verb takes.
struct ProgramArguments {
  std::string algorithm, ranks, nodes, root, source, destination;
  Words defines;
  std::string transfers, slots, topology, processes;
  bool no_fuse = false, channel_per_flow = false, by_load = false, by_rank = false, switch_hardware = false;
  bool time_passes = false, json = false;
  Words print_after;

  void add(CLI::App&);
};

// The same, understood.
struct ProgramOptions {
  std::string algorithm;
  std::optional<uint32_t> ranks;
  MachineView machine;
  uint32_t node_count = 0;  // `--nodes M`: ranks are spread evenly; 0: not given so
  std::optional<uint32_t> root, source, destination;
  std::map<std::string, int64_t> parameters;
  uint32_t only_rank = kAllRanks;
  LowerOptions lower;
  bool time_passes = false, json = false;
  std::vector<std::string> print_after;
  std::vector<std::string> lowering_options;  // names of those given that only the lowering reads

  bool names_a_program() const;  // any option that means nothing for a saved plan
};

inline constexpr uint32_t kDefaultRanks = 8;
inline constexpr uint32_t kMostRanks = 65536;

ProgramOptions understand(const ProgramArguments&, Report&);

// What a FILE became. `schedule` and `file` are absent where the input was further along.
struct Compiled {
  std::shared_ptr<const ast::File> file;
  std::optional<Schedule> schedule;
  std::shared_ptr<const Plan> plan;
  std::vector<PassTime> times;
  uint32_t undone_fusions = 0;
};

// parse ... as far as `goal`. nullopt with a report on errors. `after_pass` is handed to the lowering.
enum class Goal { kAst, kSchedule, kPlan };
std::optional<Compiled> compile(const Input&, const ProgramOptions&, Goal, Report&,
                                decltype(LowerReport::after_pass) after_pass = {});

// The algorithms of a .coll file; nullopt with a report when it does not parse.
std::optional<std::vector<AlgorithmInfo>> algorithms_of(const Input&, Report&);

// False with a report when the plan is one rank's part, which can neither be verified nor run alone.
bool require_whole(const Input&, const Plan&, Report&);

// verify(), timed, and told on a terminal while it lasts.
VerifyResult verify_aloud(const Plan&, const VerifyOptions&, double& seconds);

// "collc run lib:ring": a FILE may also be given as `--algorithm lib:NAME`.
std::optional<Input> read_main_input(std::string file, ProgramOptions&, Report&);

// `pass   ms` lines for --time-passes.
std::string show_times(const std::vector<PassTime>&);

}  // namespace coll
