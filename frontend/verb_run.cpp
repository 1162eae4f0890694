// `collc run`: compile, verify, run on the CPU, judge every element, and print a table in the manner of nccl-tests.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "frontend/command.h"
#include "frontend/diagnostics.h"
#include "frontend/load.h"
#include "frontend/memory.h"
#include "frontend/progress.h"
#include "frontend/summary.h"
#include "frontend/trial.h"
#include "frontend/units.h"
#include "frontend/user_arrays.h"
#include "frontend/workload.h"

namespace coll {

namespace {

struct RunArguments {
  ProgramArguments program;
  std::string file, size, sizes, dtype, op, target, iterations, warmup, slot_bytes, timeout, seed, counts, in, out;
  bool in_place = false, check = false, no_check = false;

  void add(CLI::App& app) {
    app.add_option("FILE", file, ".coll file, lib:NAME, saved plan or schedule, or -")->type_name("");
    program.add(app);
    app.add_option("--size", size, "one size, as 64M (default 1M)")->type_name("S");
    app.add_option("--sizes", sizes, "8..1G (doubling), or a comma list")->type_name("A..B");
    app.add_option("--dtype", dtype, "f16 bf16 f32 f64 f8e4m3 f8e5m2 i8 u8 i32 u32 i64 u64 (default f32)")
        ->type_name("T");
    app.add_option("--op", op, "sum prod min max avg, premul of floats, band bor bxor of integers (default sum)")
        ->type_name("OP");
    app.add_flag("--in-place", in_place, "only in place (default: both where the plan offers it)");
    app.add_option("--target", target, "cpu (default)")->type_name("TARGET");
    app.add_option("--iters", iterations, "samples of the time (default up to 20, in half a second)")->type_name("N");
    app.add_option("--warmup", warmup, "calls before the timed ones (default 3)")->type_name("N");
    app.add_option("--slot-bytes", slot_bytes,
                   fmt::format("bytes of a message slot (default {}K)", ExecutorOptions{}.slot_bytes >> 10))
        ->type_name("S");
    app.add_option("--timeout", timeout, "of one call (default 30s)")->type_name("T");
    app.add_option("--seed", seed, "of the inputs and premul's factors (default 1)")->type_name("N");
    app.add_option("--counts", counts, "alltoallv: a table of elements, row i is what rank i sends")->type_name("FILE");
    app.add_option("--in", in, "read inputs from .npy files; %r is the rank")->type_name("x%r.npy");
    app.add_option("--out", out, "write outputs to .npy files; %r is the rank")->type_name("y%r.npy");
    app.add_flag("--check", check, "compare every element (default)");
    app.add_flag("--no-check", no_check, "compare nothing");
    app.add_option("--processes", program.processes, "ranks as processes (not available yet)")->type_name("N");
  }
};

struct RunOptions {
  std::vector<uint64_t> sizes;
  std::optional<DType> dtype;
  RedOp op = RedOp::kSum;
  TrialOptions trial;
  ExecutorOptions executor;
};

RunOptions understand(const RunArguments& a, const ProgramOptions& program, Report& report) {
  RunOptions o;
  Diagnostics& d = report.diagnostics;
  if (!a.size.empty() && !a.sizes.empty())
    d.error(diag::kCommandOptionConflict, {}, "`--size` and `--sizes` exclude each other");
  bool sizes_given = !a.size.empty() || !a.sizes.empty();
  if (sizes_given && (!a.in.empty() || !a.counts.empty()))
    d.error(diag::kCommandOptionConflict, {}, fmt::format("`{}` fixes the size", a.in.empty() ? "--counts" : "--in"),
            "leave out --size and --sizes");
  if (!a.sizes.empty()) o.sizes = read_sizes("--sizes", a.sizes, report);
  if (!a.size.empty()) o.sizes = {read_size("--size", a.size, report)};
  if (!sizes_given) o.sizes = {1 << 20};

  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) names.emplace_back(name(static_cast<DType>(i)));
  if (!a.dtype.empty())
    if (auto choice = read_choice("--dtype", a.dtype, names, report)) o.dtype = static_cast<DType>(*choice);
  names.clear();
  for (int i = 0; i < kRedOpCount; ++i) names.emplace_back(name(static_cast<RedOp>(i)));
  if (!a.op.empty())
    if (auto choice = read_choice("--op", a.op, names, report)) o.op = static_cast<RedOp>(*choice);
  if (!a.target.empty()) {
    if (auto choice = read_choice("--target", a.target, {"cpu", "ptx", "cuda"}, report); choice && *choice != 0) {
      report.fail({StatusCode::kUnavailable,
                   fmt::format("the target `{}` is not available in this version of collc, which has no GPU back end; "
                               "`collc targets` lists what there is",
                               a.target)});
    }
  }
  if (!a.iterations.empty()) {
    o.trial.iterations = static_cast<uint32_t>(read_number("--iters", a.iterations, 1, 1000000, report));
    o.trial.budget_seconds = 0;
  }
  if (!a.warmup.empty()) o.trial.warmup = static_cast<uint32_t>(read_number("--warmup", a.warmup, 0, 1000000, report));
  if (!a.seed.empty()) o.trial.seed = read_number("--seed", a.seed, 0, UINT64_MAX, report);
  if (a.check && a.no_check) d.error(diag::kCommandOptionConflict, {}, "`--check` and `--no-check` exclude each other");
  o.trial.check = !a.no_check;
  o.executor.slots = program.lower.slots;
  if (!a.slot_bytes.empty()) {
    o.executor.slot_bytes = read_size("--slot-bytes", a.slot_bytes, report);
    if (report.ok() && (o.executor.slot_bytes < 16 || o.executor.slot_bytes > (1ull << 30)))
      d.error(diag::kCommandBadSize, {}, fmt::format("`--slot-bytes` is {}", show_bytes(o.executor.slot_bytes)),
              "a slot holds 16 bytes to 1 GiB");
  }
  if (!a.timeout.empty())
    o.executor.timeout = std::chrono::milliseconds(read_milliseconds("--timeout", a.timeout, report));
  for (auto [option, pattern] : {std::pair{"--in", &a.in}, {"--out", &a.out}}) {
    if (pattern->empty() || pattern->find("%r") != std::string::npos) continue;
    d.error(diag::kCommandBadUsage, {}, fmt::format("`{} {}` names one file for all ranks", option, *pattern),
            "put `%r` where the rank belongs, as `x%r.npy`");
  }
  return o;
}

// `bytes` below 0: this collective has no bandwidth.
std::string show_bandwidth(double bytes, double time_us) {
  if (bytes < 0) return fmt::format("{:>8}", "-");
  double gbps = time_us > 0 ? bytes / time_us / 1e3 : 0;
  return fmt::format("{:>8.{}f}", gbps, gbps < 10 ? 3 : 2);
}

std::string show_outcome(const Workload& w, const Outcome& o) {
  std::string wrong = o.checked ? fmt::format("{:>6}", o.wrong) : fmt::format("{:>6}", "N/A");
  if (o.wrong != 0) wrong = red(wrong, STDOUT_FILENO);
  double size = w.bus_bytes ? static_cast<double>(w.size_bytes) : -1, bus = w.bus_bytes.value_or(-1);
  return fmt::format(" {:>9.{}f}{}{} {}", o.time_us, o.time_us < 1000 ? 2 : 1, show_bandwidth(size, o.time_us),
                     show_bandwidth(bus, o.time_us), wrong);
}

nlohmann::ordered_json to_json(const Workload& w, const Outcome& o) {
  nlohmann::ordered_json j = {{"time_us", o.time_us}, {"timed_calls", o.timed_calls}};
  if (w.bus_bytes && o.time_us > 0) {
    j["algbw_gbps"] = static_cast<double>(w.size_bytes) / o.time_us / 1e3;
    j["busbw_gbps"] = *w.bus_bytes / o.time_us / 1e3;
  }
  j["wrong"] = o.checked ? nlohmann::ordered_json(o.wrong) : nlohmann::ordered_json(nullptr);
  j["interpreter_compared"] = o.interpreted;
  if (!o.first_wrong.empty()) j["first_wrong"] = o.first_wrong;
  return j;
}

// The whole run of one verified plan.
class Session {
 public:
  Session(const RunArguments& arguments, const ProgramOptions& program, RunOptions options, const Input& input,
          std::shared_ptr<const Plan> plan, nlohmann::ordered_json json, Report& report)
      : arguments_(arguments),
        program_(program),
        options_(std::move(options)),
        input_(input),
        plan_(std::move(plan)),
        report_(report),
        json_(std::move(json)) {}

  // False with a report on bad input or a failure of the machine.
  bool run(const VerifyResult& proof, double verify_seconds);
  bool all_right() const { return wrong_ == 0; }
  // What is known so far, for --json.
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  bool check_modes();
  bool prepare_workloads();
  void print_header(const VerifyResult& proof, double verify_seconds);
  bool run_row(Executor&, const Workload&);
  bool write_outputs(const Trial&);
  void print_end();
  bool fail(Status status) {
    report_.fail(std::move(status));
    return false;
  }

  const RunArguments& arguments_;
  const ProgramOptions& program_;
  RunOptions options_;
  const Input& input_;
  std::shared_ptr<const Plan> plan_;
  Report& report_;

  CallSpec spec_;
  std::optional<UserArrays> arrays_;
  std::vector<Workload> workloads_;
  bool out_of_place_ = true, in_place_ = false;
  uint64_t wrong_ = 0;
  bool skipped_ = false;  // some row was not compared with the interpreter
  double bus_sum_ = 0;
  uint32_t bus_count_ = 0;
  nlohmann::ordered_json json_;
};

bool Session::check_modes() {
  const Contract& c = plan_->contract;
  if (arguments_.in_place && !plan_->inplace) {
    report_.diagnostics.error(diag::kCommandNotInPlace, {}, fmt::format("`{}` cannot be called in place", plan_->name),
                              c.offers_inplace() ? "its statements use `in` and `out` apart"
                                                 : fmt::format("`{}` has no in-place form", c.name));
  }
  if (!arguments_.counts.empty() && c.kind != ContractKind::kAllToAllV) {
    report_.diagnostics.error(diag::kCommandOptionConflict, {},
                              fmt::format("`--counts` belongs to alltoallv, not to {}", c.name));
  }
  out_of_place_ = !arguments_.in_place;
  in_place_ = plan_->inplace && (arguments_.in_place || (arguments_.in.empty() && arguments_.out.empty()));
  return report_.ok();
}

bool Session::prepare_workloads() {
  const Contract& c = plan_->contract;
  DType dtype = options_.dtype.value_or(DType::kF32);
  std::optional<Workload> by_counts;
  if (!arguments_.counts.empty()) {
    auto counts = read_counts(arguments_.counts, c.ranks, report_);
    if (!counts) return false;
    by_counts = workload_of_counts(c, dtype, std::move(*counts));
  }
  if (!arguments_.in.empty()) {
    arrays_ = read_arrays(arguments_.in, c, options_.dtype, by_counts, report_);
    if (!arrays_) return false;
    workloads_ = {arrays_->workload};
    dtype = arrays_->workload.sizes.dtype;
  } else if (by_counts) {
    workloads_ = {*by_counts};
  } else if (c.kind == ContractKind::kBarrier) {
    dtype = DType::kU8;
    workloads_ = {workload_of_count(c, dtype, 0)};
  } else {
    for (uint64_t size : options_.sizes) workloads_.push_back(workload_of_size(c, dtype, size));
  }
  if (!arguments_.out.empty() && workloads_.size() > 1) {
    report_.diagnostics.error(diag::kCommandOptionConflict, {}, "`--out` writes the outputs of one size",
                              "give one --size");
    return false;
  }
  spec_.op = c.kind == ContractKind::kBarrier ? RedOp::kBor : options_.op;
  if (c.reduces() && !supports(spec_.op, dtype)) {
    report_.diagnostics.error(
        diag::kCommandOperatorType, {}, fmt::format("`{}` is not defined for {}", name(spec_.op), name(dtype)),
        spec_.op == RedOp::kPremul ? "premul needs a float type" : "bitwise operators need an integer type");
    return false;
  }
  if (!c.reduces()) spec_.op = RedOp::kSum;
  if (spec_.op == RedOp::kPremul) {
    // Sixteenths in [0.5, 1.5): exact in every type, different by rank.
    std::vector<uint64_t> bits(c.ranks);
    for (uint32_t r = 0; r < c.ranks; ++r) {
      fill_random(DType::kU64, RedOp::kSum, options_.trial.seed + 1, r, &bits[r], 1);
      spec_.premul.push_back(0.5 + static_cast<double>(bits[r] % 16) / 16);
    }
  }
  spec_.slot_bytes = options_.executor.slot_bytes;
  return true;
}

void Session::print_header(const VerifyResult& proof, double verify_seconds) {
  PlanSummary s = summarize(*plan_);
  const Contract& c = plan_->contract;
  json_["rows"] = nlohmann::ordered_json::array();
  if (program_.json) return;
  std::string protocols =
      s.protocols.empty() ? plan_->has_direct() ? "direct" : "none" : fmt::format("{}", fmt::join(s.protocols, ","));
  fmt::print("# {}: algorithm {} ({}), {} of this CPU{}\n", input_.name, plan_->name, c.name,
             c.ranks == 1 ? "1 rank as a thread" : fmt::format("{} ranks as threads", c.ranks),
             program_.ranks || input_.kind != Input::Kind::kProgram ? "" : " (default)");
  fmt::print("# plan: {}, at most {} a rank, {}, protocol {}, slots needed {}, used {}\n",
             counted(s.instructions, "instruction"), counted(s.lanes_per_rank_max, "lane"),
             counted(s.channels, "channel"), protocols, plan_->slots_needed, options_.executor.slots);
  fmt::print("# {}: {}, in {:.1f} ms\n", word(proof.verdict), proof_line(proof), verify_seconds * 1e3);
  if (!options_.trial.check) fmt::print("# results are not compared (--no-check)\n");
  std::string modes, columns, units;
  for (const char* mode : {out_of_place_ ? "out-of-place" : "", in_place_ ? "in-place" : ""}) {
    if (*mode == '\0') continue;
    modes += fmt::format(" {:^32}", mode);
    columns += fmt::format(" {:>9}{:>8}{:>8} {:>6}", "time", "algbw", "busbw", "#wrong");
    units += fmt::format(" {:>9}{:>8}{:>8} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  fmt::print("#\n#{:>46}{}\n", "", modes);
  fmt::print("# {:>11} {:>13} {:>6} {:>6} {:>5}{}\n", "size", "count", "type", "redop", "root", columns);
  fmt::print("# {:>11} {:>13} {:>6} {:>6} {:>5}{}\n", "(B)", "(elements)", "", "", "", units);
  std::fflush(stdout);
}

bool Session::run_row(Executor& executor, const Workload& w) {
  Trial trial(*plan_, executor, spec_, w, options_.trial);
  if (uint64_t needed = trial.bytes_needed(), there = available_memory_bytes(); needed > there / 10 * 9) {
    return fail(
        {StatusCode::kUnavailable, fmt::format("size {} needs {} of memory, of which {} are available",
                                               show_bytes(w.size_bytes), show_bytes(needed), show_bytes(there))});
  }
  if (Status status = trial.allocate(); !status.ok()) return fail(status);
  if (arrays_) {
    for (uint32_t r = 0; r < plan_->ranks(); ++r)
      if (arrays_->of_rank[r]) trial.set_input(r, arrays_->of_rank[r]->data());
  } else {
    trial.random_inputs();
  }
  const Contract& c = plan_->contract;
  bool barrier = c.kind == ContractKind::kBarrier;
  const char* type = barrier ? "none" : name(w.sizes.dtype);
  const char* op = c.reduces() && !barrier ? name(spec_.op) : "none";
  int64_t root = c.has_root() || c.kind == ContractKind::kSendRecv ? static_cast<int64_t>(c.root) : -1;
  nlohmann::ordered_json row = {
      {"size_bytes", w.size_bytes}, {"count", w.shown_count}, {"dtype", type}, {"op", op}, {"root", root}};
  std::string line = fmt::format("  {:>11} {:>13} {:>6} {:>6} {:>5}", w.size_bytes, w.shown_count, type, op, root);
  std::string notes;
  bool skipped = false;
  for (bool in_place : {false, true}) {
    if (in_place ? !in_place_ : !out_of_place_) continue;
    Outcome outcome;
    Status status = trial.measure(in_place, outcome);
    if (!status.ok()) return fail(status);
    line += show_outcome(w, outcome);
    row[in_place ? "in_place" : "out_of_place"] = to_json(w, outcome);
    wrong_ += outcome.wrong;
    skipped = skipped || (outcome.checked && !outcome.interpreted);
    if (!outcome.first_wrong.empty()) notes += fmt::format("# wrong: {}\n", outcome.first_wrong);
    if (w.bus_bytes && outcome.time_us > 0) {
      bus_sum_ += *w.bus_bytes / outcome.time_us / 1e3;
      ++bus_count_;
    }
  }
  json_["rows"].push_back(std::move(row));
  if (!program_.json) {
    clear_progress();
    fmt::print("{}{}\n{}", line, skipped ? " *" : "", notes);
    if (skipped) skipped_ = true;
    std::fflush(stdout);
  }
  return arguments_.out.empty() || write_outputs(trial);
}

bool Session::write_outputs(const Trial& trial) {
  const Contract& c = plan_->contract;
  for (uint32_t r = 0; r < c.ranks; ++r) {
    if (c.out_blocks(r) == 0) continue;
    uint64_t n = trial.output_elements(r);
    Status status = write_npy(path_of(arguments_.out, r), workloads_[0].sizes.dtype,
                              output_shape(arrays_ ? &*arrays_ : nullptr, r, n), trial.output(r));
    if (!status.ok()) return fail(status);
  }
  return true;
}

void Session::print_end() {
  double average = bus_count_ == 0 ? 0 : bus_sum_ / bus_count_;
  json_["ok"] = wrong_ == 0;
  json_["wrong"] = options_.trial.check ? nlohmann::ordered_json(wrong_) : nlohmann::ordered_json(nullptr);
  if (bus_count_ != 0) json_["avg_busbw_gbps"] = average;
  if (program_.json) return;
  if (skipped_)
    fmt::print("# *: not compared with the interpreter, because the buffers exceed {}; compared with the contract\n",
               show_bytes(kInterpreterLimitBytes));
  std::string total = options_.trial.check ? fmt::format("{} wrong", wrong_) : "not compared";
  fmt::print("# total: {}\n", wrong_ == 0 ? total : red(total, STDOUT_FILENO));
  if (bus_count_ != 0) fmt::print("# average bus bandwidth: {:.3f} GB/s\n", average);
}

bool Session::run(const VerifyResult& proof, double verify_seconds) {
  if (!check_modes() || !prepare_workloads()) return false;
  print_header(proof, verify_seconds);
  Executor executor(plan_, options_.executor);
  for (size_t i = 0; i < workloads_.size(); ++i) {
    const Workload& w = workloads_[i];
    show_progress(fmt::format("running `{}` with {}, size {} of {}", plan_->name, show_bytes(w.size_bytes), i + 1,
                              workloads_.size()));
    bool ran = run_row(executor, w);
    clear_progress();
    if (!ran) return false;
  }
  print_end();
  return true;
}

}  // namespace

int verb_run(const Verb& verb, const Words& words) {
  RunArguments arguments;
  auto app = make_parser(verb);
  arguments.add(*app);
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  ProgramOptions program = understand(arguments.program, report);
  RunOptions options = understand(arguments, program, report);
  std::optional<Input> input = read_main_input(arguments.file, program, report);
  nlohmann::ordered_json json = {{"ok", false}};
  if (input) json["file"] = input->name;
  if (!report.ok()) return report.finish(program.json, json);
  std::optional<Compiled> compiled = compile(*input, program, Goal::kPlan, report);
  if (!compiled || !require_whole(*input, *compiled->plan, report)) {
    json["verdict"] = "not compiled";
    return report.finish(program.json, json);
  }

  VerifyOptions verify_options;
  verify_options.slots = options.executor.slots;
  double verify_seconds = 0;
  VerifyResult proof = verify_aloud(*compiled->plan, verify_options, verify_seconds);
  compiled->times.push_back({"verify", verify_seconds});
  if (program.time_passes) std::fputs(show_times(compiled->times).c_str(), stderr);
  const Plan& plan = *compiled->plan;
  json["algorithm"] = plan.name;
  json["collective"] = plan.contract.name;
  json["ranks"] = plan.ranks();
  json["target"] = "cpu";
  json["plan"] = to_json(summarize(plan));
  json["slots"] = options.executor.slots;
  put_verdict(json, proof);
  json["verify"]["seconds"] = verify_seconds;
  if (!proof.ok()) {
    report.finish(program.json, json);
    std::fputs(render(proof).c_str(), stderr);
    return kExitNo;
  }
  Session session(arguments, program, std::move(options), *input, compiled->plan, std::move(json), report);
  bool ran = session.run(proof, verify_seconds);
  int status = report.finish(program.json, session.json());
  if (!ran) return status;
  return session.all_right() ? kExitRight : kExitNo;
}

}  // namespace coll
