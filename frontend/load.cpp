#include "frontend/load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "frontend/diagnostics.h"
#include "frontend/progress.h"
#include "frontend/units.h"
#include "ir/plan_text.h"

namespace coll {

namespace {

// No text of ours is larger; an endless device ends here and not in swap.
constexpr size_t kLargestText = size_t{1} << 30;

Status file_failure(const std::string& path, const char* what, int error) {
  return {StatusCode::kFile, fmt::format("{} `{}`: {}", what, path, std::strerror(error))};
}

Input::Kind kind_of(std::string_view text) {
  if (text.starts_with("collc plan")) return Input::Kind::kPlan;
  if (text.starts_with("collc schedule")) return Input::Kind::kSchedule;
  return Input::Kind::kProgram;
}

const LibraryFile* find_library(const std::string& name) {
  for (const LibraryFile& f : library())
    if (name == f.name) return &f;
  return nullptr;
}

std::optional<uint32_t> optional_number(const std::string& option, const std::string& text, uint64_t lowest,
                                        uint64_t highest, Report& report) {
  if (text.empty()) return std::nullopt;
  return static_cast<uint32_t>(read_number(option, text, lowest, highest, report));
}

void read_define(const std::string& text, ProgramOptions& options, Report& report) {
  size_t equals = text.find('=');
  int64_t value = 0;
  bool good = equals != std::string::npos && equals > 0;
  if (good) {
    const char* begin = text.data() + equals + 1;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, value);
    good = stop == end && begin != end && error == std::errc();
  }
  if (!good) {
    report.diagnostics.error(diag::kCommandBadDefine, {}, fmt::format("`-D {}` sets no parameter", text),
                             "write it as `-D pieces=16`, with a whole number");
    return;
  }
  if (!options.parameters.emplace(text.substr(0, equals), value).second) {
    report.diagnostics.error(diag::kCommandBadDefine, {},
                             fmt::format("`-D {}` sets a parameter that is set already", text),
                             "give each parameter one value");
  }
}

// Nodes of equal size, or an error: whoever has others says so in a list.
void check_node_count(uint32_t nodes, uint32_t ranks, Report& report) {
  if (nodes == 0 || ranks % nodes == 0) return;
  std::string hint = "every node has at least one rank";
  if (nodes < ranks) {
    constexpr uint32_t kMostShown = 16;
    hint = "a list gives the ranks of each node";
    if (nodes <= kMostShown)
      hint += fmt::format(", as `--nodes {}`", fmt::join(MachineView::uniform(ranks, nodes).node_sizes, ","));
  }
  report.diagnostics.error(
      diag::kCommandNodesMismatch, {},
      fmt::format("`--nodes {}` makes nodes of equal size, which {} cannot be cut into", nodes, counted(ranks, "rank")),
      hint);
}

void read_nodes(const std::string& text, ProgramOptions& options, Report& report) {
  if (text.empty()) return;
  if (text.find(',') == std::string::npos) {
    options.node_count = static_cast<uint32_t>(read_number("--nodes", text, 1, kMostRanks, report));
    return;  // whether the ranks can be cut so is looked at where their number is known
  }
  uint64_t sum = 0;
  for (const std::string& piece : split(text, ',')) {
    options.machine.node_sizes.push_back(static_cast<uint32_t>(read_number("--nodes", piece, 1, kMostRanks, report)));
    sum += options.machine.node_sizes.back();
  }
  if (!options.ranks && sum <= kMostRanks) options.ranks = static_cast<uint32_t>(sum);
  if (sum != options.ranks.value_or(0)) {
    report.diagnostics.error(diag::kCommandNodesMismatch, {},
                             fmt::format("`--nodes {}` adds up to {}, not to {}", text, counted(sum, "rank"),
                                         options.ranks.value_or(kMostRanks)),
                             "a list names the number of ranks of every node");
  }
}

void check_rank(const char* option, std::optional<uint32_t> rank, uint32_t ranks, Report& report) {
  if (!rank || *rank < ranks) return;
  report.diagnostics.error(
      diag::kCommandRankOutside, {},
      fmt::format("`{}` is {}, but there {} {}", option, *rank, ranks == 1 ? "is" : "are", counted(ranks, "rank")),
      "ranks count from 0");
}

// Seconds since `start`, which moves on to now.
double lap(std::chrono::steady_clock::time_point& start) {
  auto now = std::chrono::steady_clock::now();
  double seconds = std::chrono::duration<double>(now - start).count();
  start = now;
  return seconds;
}

}  // namespace

Status read_text(const std::string& path, std::string& text) {
  int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_failure(path, "cannot open", errno);
  Status status;
  struct stat about{};
  if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    status = file_failure(path, "cannot read", EISDIR);
  } else {
    text.clear();
    std::vector<char> piece(size_t{1} << 16);
    while (true) {
      ssize_t n = read(fd, piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) status = file_failure(path, "cannot read", errno);
      if (n <= 0) break;
      text.append(piece.data(), static_cast<size_t>(n));
      if (text.size() > kLargestText) {
        status = file_failure(path, "cannot read", EFBIG);
        break;
      }
    }
  }
  if (fd != STDIN_FILENO) close(fd);
  return status;
}

Status write_text(const std::string& path, const std::string& text) {
  clear_progress();
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return file_failure("standard output", "cannot write", errno);
    return {};
  }
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return file_failure(path, "cannot write", errno);
  Status status;
  for (size_t done = 0; done < text.size();) {
    ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      status = file_failure(path, "cannot write", errno);
      break;
    }
    done += static_cast<size_t>(n);
  }
  if (close(fd) != 0 && status.ok()) status = file_failure(path, "cannot write", errno);
  return status;
}

std::optional<Input> read_input(const std::string& argument, Report& report) {
  Input input;
  if (argument.starts_with("lib:")) {
    std::string name = argument.substr(4);
    const LibraryFile* found = find_library(name);
    if (found == nullptr) {
      std::vector<std::string> names;
      for (const LibraryFile& f : library()) names.emplace_back(f.name);
      std::string near = near_word(name, names);
      report.diagnostics.error(
          diag::kCommandUnknownLibraryName, {}, fmt::format("the library has no `{}`", argument),
          near.empty() ? "`collc list` names them all" : fmt::format("did you mean `lib:{}`", near));
      return std::nullopt;
    }
    input.library = true;
    input.name = argument;
    input.file = std::make_shared<SourceFile>(argument, found->text);
    return input;
  }
  std::string text;
  show_progress(argument == "-" ? "reading standard input" : fmt::format("reading `{}`", argument));
  Status status = read_text(argument, text);
  clear_progress();
  if (!status.ok()) {
    report.fail(status);
    return std::nullopt;
  }
  input.name = argument == "-" ? "<stdin>" : argument;
  input.kind = kind_of(text);
  input.file = std::make_shared<SourceFile>(input.name, std::move(text));
  return input;
}

void ProgramArguments::add(CLI::App& app) {
  app.add_option("--algorithm", algorithm, "algorithm of the file, where it has several; or lib:NAME")
      ->type_name("NAME");
  app.add_option("--ranks", ranks, "ranks (default 8)")->type_name("N");
  app.add_option("--nodes", nodes, "nodes of equal size, or the ranks of each node")->type_name("M|8,8,4");
  app.add_option("--root", root, "root of rooted collectives (default 0)")->type_name("R");
  app.add_option("--src", source, "sending rank of sendrecv (default 0)")->type_name("R");
  app.add_option("--dst", destination, "receiving rank of sendrecv (default 1)")->type_name("R");
  app.add_option("-D", defines, "set a parameter of the algorithm")->type_name("NAME=NUMBER")->allow_extra_args(false);
  app.add_option("--slots", slots, "message slots of a connection (default 8)")->type_name("K");
  app.add_option("--transfers", transfers, "staged, put or get (default staged)")->type_name("HOW");
  app.add_flag("--no-fuse", no_fuse, "keep receives and sends apart");
  app.add_flag("--channel-per-flow", channel_per_flow, "give every flow a channel of its own, as a yardstick");
  app.add_flag("--by-load", by_load, "choose channels and lanes by the load of the whole plan");
  app.add_flag("--by-rank", by_rank, "choose channels and lanes from each rank's own statements");
  app.add_flag("--switch", switch_hardware, "multicast and in-switch reduction are available");
  app.add_flag("--time-passes", time_passes, "print the time of each step on standard error");
  app.add_option("--print-after", print_after, "print the state after this pass on standard error")
      ->type_name("PASS")
      ->allow_extra_args(false);
  app.add_option("--topo", topology, "a machine (not available yet)")->type_name("T");
  app.add_flag("--json", json, "print for machines");
}

ProgramOptions understand(const ProgramArguments& a, Report& report) {
  ProgramOptions o;
  o.algorithm = a.algorithm;
  o.ranks = optional_number("--ranks", a.ranks, 1, kMostRanks, report);
  o.root = optional_number("--root", a.root, 0, kMostRanks - 1, report);
  o.source = optional_number("--src", a.source, 0, kMostRanks - 1, report);
  o.destination = optional_number("--dst", a.destination, 0, kMostRanks - 1, report);
  read_nodes(a.nodes, o, report);
  for (const std::string& d : a.defines) read_define(d, o, report);
  o.lower.slots = optional_number("--slots", a.slots, 1, 1 << 16, report).value_or(o.lower.slots);
  if (!a.transfers.empty()) {
    if (auto choice = read_choice("--transfers", a.transfers, {"staged", "put", "get"}, report))
      o.lower.transfers = static_cast<LowerOptions::Transfers>(*choice);
  }
  o.lower.fuse = !a.no_fuse;
  o.lower.channel_per_flow = a.channel_per_flow;
  o.lower.switch_hardware = a.switch_hardware;
  if (a.by_load && a.by_rank) {
    report.diagnostics.error(diag::kCommandOptionConflict, {}, "`--by-load` and `--by-rank` exclude each other");
  } else if (a.by_load || a.by_rank) {
    o.lower.by_load = a.by_load;
  }
  if (!a.topology.empty()) {
    report.diagnostics.error(diag::kCommandOptionNotAvailable, {}, "`--topo` is not available in this version of collc",
                             "give `--ranks` and `--nodes`");
  }
  for (auto [option, given] : {std::pair{"--transfers", !a.transfers.empty()},
                               {"--no-fuse", a.no_fuse},
                               {"--channel-per-flow", a.channel_per_flow},
                               {"--by-load", a.by_load},
                               {"--by-rank", a.by_rank},
                               {"--switch", a.switch_hardware},
                               {"--print-after", !a.print_after.empty()}}) {
    if (given) o.lowering_options.emplace_back(option);
  }
  if (!a.processes.empty()) {
    report.diagnostics.error(diag::kCommandOptionNotAvailable, {},
                             "`--processes` is not available in this version of collc",
                             "ranks run as threads of one process");
  }
  o.time_passes = a.time_passes;
  o.json = a.json;
  o.print_after = a.print_after;
  std::vector<std::string> names;
  for (const PassInfo& p : pass_list()) names.push_back(p.name);
  for (const std::string& pass : o.print_after) (void)read_choice("--print-after", pass, names, report);
  return o;
}

bool ProgramOptions::names_a_program() const {
  return !algorithm.empty() || !machine.node_sizes.empty() || node_count != 0 || root || source || destination ||
         !parameters.empty() || only_rank != kAllRanks;
}

std::optional<Input> read_main_input(std::string file, ProgramOptions& options, Report& report) {
  if (options.algorithm.starts_with("lib:")) {
    if (!file.empty()) {
      report.diagnostics.error(diag::kCommandOptionConflict, {},
                               fmt::format("`{}` and `--algorithm {}` both name a program", file, options.algorithm),
                               "leave one out");
      return std::nullopt;
    }
    file = options.algorithm;
    options.algorithm.clear();
  }
  if (file.empty()) {
    report.diagnostics.error(diag::kCommandMissingFile, {}, "no FILE was given",
                             "name a .coll file, a saved plan, `lib:NAME`, or `-` for standard input");
    return std::nullopt;
  }
  return read_input(file, report);
}

std::optional<std::vector<AlgorithmInfo>> algorithms_of(const Input& input, Report& report) {
  std::shared_ptr<const ast::File> file = parse(*input.file, report.diagnostics);
  if (file == nullptr || report.diagnostics.has_errors()) return std::nullopt;
  return algorithms(*file);
}

namespace {

// Elaborates for the ranks, machine and root of the options.
std::optional<Schedule> elaborate_program(const ast::File& file, const Input& input, const ProgramOptions& o,
                                          Report& report) {
  ElaborateOptions e;
  e.algorithm = o.algorithm;
  e.ranks = o.ranks.value_or(kDefaultRanks);
  e.machine = o.machine;
  if (o.node_count != 0) {
    check_node_count(o.node_count, e.ranks, report);
    if (!report.ok()) return std::nullopt;
    e.machine = MachineView::uniform(e.ranks, o.node_count);
  }
  std::vector<AlgorithmInfo> infos = algorithms(file);
  if (infos.empty()) {
    report.diagnostics.error(diag::kCommandNoAlgorithm, {}, fmt::format("`{}` has no algorithm", input.name),
                             "write `algorithm name implements allreduce { ... }`");
    return std::nullopt;
  }
  auto info = std::find_if(infos.begin(), infos.end(), [&](const AlgorithmInfo& i) { return i.name == o.algorithm; });
  if (info == infos.end() && infos.size() == 1) info = infos.begin();
  bool pair = info != infos.end() && info->contract == "sendrecv";
  e.root = pair ? o.source.value_or(0) : o.root.value_or(0);
  e.dst = pair ? o.destination.value_or(e.ranks > 1 ? (e.root + 1) % e.ranks : 0) : 0;
  if (pair && e.ranks == 1 && !o.destination) {
    report.diagnostics.error(diag::kCommandRankOutside, {}, "`sendrecv` sends to another rank, and there is 1 rank",
                             "give `--ranks 2` or more");
  }
  check_rank("--root", o.root, e.ranks, report);
  check_rank("--src", o.source, e.ranks, report);
  check_rank("--dst", o.destination, e.ranks, report);
  if (o.only_rank != kAllRanks) check_rank("--rank", o.only_rank, e.ranks, report);
  if (!report.ok()) return std::nullopt;
  e.parameters = o.parameters;
  e.only_rank = o.only_rank;
  std::optional<Schedule> schedule = elaborate(file, e, report.diagnostics);
  if (!schedule || report.diagnostics.has_errors()) return std::nullopt;
  if (o.root && !schedule->contract.has_root()) {
    report.diagnostics.warning(
        diag::kCommandOptionIgnored, {},
        fmt::format("`--root` means nothing for `{}`, which has no root", schedule->contract.name));
  }
  if ((o.source || o.destination) && schedule->contract.kind != ContractKind::kSendRecv) {
    report.diagnostics.warning(diag::kCommandOptionIgnored, {},
                               fmt::format("`--src` and `--dst` mean nothing for `{}`", schedule->contract.name));
  }
  return schedule;
}

// A saved plan or schedule has its program behind it: options that choose one do not fit.
void check_saved(const Input& input, uint32_t ranks, const ProgramOptions& o, Report& report) {
  if (o.names_a_program()) {
    report.diagnostics.error(
        diag::kCommandOptionConflict, {},
        fmt::format("`{}` is already compiled, so nothing about its program can be chosen", input.name),
        "leave out --algorithm, --nodes, --root, --src, --dst, --rank and -D, or give the .coll file");
  }
  if (input.kind == Input::Kind::kPlan && !o.lowering_options.empty()) {  // a schedule is still to be lowered
    std::vector<std::string> quoted;
    for (const std::string& option : o.lowering_options) quoted.push_back("`" + option + "`");
    report.diagnostics.error(diag::kCommandOptionConflict, {},
                             fmt::format("`{}` is a finished plan, for which {} mean{} nothing", input.name,
                                         listed(quoted), quoted.size() == 1 ? "s" : ""),
                             fmt::format("leave {} out, or give the .coll file", quoted.size() == 1 ? "it" : "them"));
  }
  if (o.ranks && *o.ranks != ranks) {
    report.diagnostics.error(diag::kCommandOptionConflict, {},
                             fmt::format("`{}` is for {}, not for {}", input.name, counted(ranks, "rank"), *o.ranks));
  }
}

}  // namespace

std::optional<Compiled> compile(const Input& input, const ProgramOptions& o, Goal goal, Report& report,
                                decltype(LowerReport::after_pass) after_pass) {
  Compiled c;
  auto start = std::chrono::steady_clock::now();
  if (input.kind == Input::Kind::kPlan) {
    if (goal != Goal::kPlan) {
      report.diagnostics.error(diag::kCommandWrongInput, {},
                               fmt::format("`{}` is a plan; its source is not in it", input.name),
                               "give the .coll file");
      return std::nullopt;
    }
    show_progress(fmt::format("reading the plan `{}`", input.name));
    std::optional<Plan> plan = parse_plan(*input.file, report.diagnostics);
    if (!plan || report.diagnostics.has_errors()) return std::nullopt;
    check_saved(input, plan->ranks(), o, report);
    if (!report.ok()) return std::nullopt;
    c.times.push_back({"read", lap(start)});
    c.plan = std::make_shared<Plan>(std::move(*plan));
    return c;
  }
  if (input.kind == Input::Kind::kSchedule) {
    if (goal == Goal::kAst) {
      report.diagnostics.error(diag::kCommandWrongInput, {},
                               fmt::format("`{}` is a schedule; its source is not in it", input.name),
                               "give the .coll file");
      return std::nullopt;
    }
    show_progress(fmt::format("reading the schedule `{}`", input.name));
    c.schedule = parse_schedule(*input.file, report.diagnostics);
    if (!c.schedule || report.diagnostics.has_errors()) return std::nullopt;
    check_saved(input, c.schedule->ranks(), o, report);
    if (!report.ok()) return std::nullopt;
    c.times.push_back({"read", lap(start)});
  } else {
    show_progress(fmt::format("parsing `{}`", input.name));
    c.file = parse(*input.file, report.diagnostics);
    if (c.file == nullptr || report.diagnostics.has_errors()) return std::nullopt;
    c.times.push_back({"parse", lap(start)});
    if (goal == Goal::kAst) return c;
    show_progress(fmt::format("elaborating `{}`", o.algorithm.empty() ? input.name : o.algorithm));
    c.schedule = elaborate_program(*c.file, input, o, report);
    if (!c.schedule) return std::nullopt;
    c.times.push_back({"elaborate", lap(start)});
  }
  if (goal == Goal::kSchedule) return c;
  if (!after_pass && !o.print_after.empty()) {
    after_pass = [&o](const std::string& pass, const std::function<std::string()>& print) {
      if (std::find(o.print_after.begin(), o.print_after.end(), pass) == o.print_after.end()) return;
      std::string text = fmt::format("// after {}\n{}", pass, print());
      std::fputs(text.c_str(), stderr);
    };
  }
  // After a pass the next one of the list begins; when some are run again, they come in the same order.
  const std::vector<PassInfo> passes = pass_list();
  auto show_pass = [&](size_t at) {
    bool left_out =
        at < passes.size() && ((passes[at].name == "sink" && !o.lower.fuse) ||
                               (passes[at].name == "direct" && o.lower.transfers == LowerOptions::Transfers::kStaged));
    if (left_out) ++at;
    if (at < passes.size())
      show_progress(
          fmt::format("lowering `{}`, {} (pass {} of {})", c.schedule->name, passes[at].name, at + 1, passes.size()));
  };
  LowerReport lowering;
  lowering.after_pass = [&](const std::string& pass, const std::function<std::string()>& print) {
    clear_progress();
    if (after_pass) after_pass(pass, print);
    auto at = std::find_if(passes.begin(), passes.end(), [&](const PassInfo& p) { return p.name == pass; });
    show_pass(static_cast<size_t>(at - passes.begin()) + 1);
  };
  show_pass(0);
  LowerOptions lower_options = o.lower;
  if (c.schedule->only_rank != kAllRanks) lower_options.by_load = false;
  std::optional<Plan> plan = lower(*c.schedule, lower_options, report.diagnostics, &lowering);
  clear_progress();
  if (!plan || report.diagnostics.has_errors()) return std::nullopt;
  c.times.insert(c.times.end(), lowering.times.begin(), lowering.times.end());
  c.undone_fusions = lowering.undone_fusions;
  c.plan = std::make_shared<Plan>(std::move(*plan));
  return c;
}

bool require_whole(const Input& input, const Plan& plan, Report& report) {
  if (plan.only_rank == kAllRanks) return true;
  report.diagnostics.error(diag::kCommandPartOfPlan, {},
                           fmt::format("`{}` is the part of rank {} alone, which can be neither verified nor run",
                                       input.name, plan.only_rank),
                           "compile without --rank");
  return false;
}

VerifyResult verify_aloud(const Plan& plan, const VerifyOptions& options, double& seconds) {
  show_progress(fmt::format("verifying `{}`", plan.name));
  auto start = std::chrono::steady_clock::now();
  VerifyResult result = verify(plan, options);
  seconds = lap(start);
  clear_progress();
  return result;
}

std::string show_times(const std::vector<PassTime>& times) {
  std::vector<PassTime> merged;
  double total = 0;
  for (const PassTime& t : times) {  // a pass that ran again adds up
    total += t.seconds;
    auto same = std::find_if(merged.begin(), merged.end(), [&](const PassTime& m) { return m.pass == t.pass; });
    if (same == merged.end()) {
      merged.push_back(t);
    } else {
      same->seconds += t.seconds;
    }
  }
  std::string text;
  for (const PassTime& t : merged) text += fmt::format("# {:<16} {:>10.3f} ms\n", t.pass, t.seconds * 1e3);
  return text + fmt::format("# {:<16} {:>10.3f} ms\n", "total", total * 1e3);
}

}  // namespace coll
