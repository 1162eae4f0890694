// The executor's life: threads are made once and parked between runs, connections grow with the sizes asked for.
//
// Slot memory is bounded. A plan of all pairs on 64 ranks has 4,032 connections; 8 slots of 128 KiB for each would be
// 4 GiB, none of it in any cache. So the slot size asked for is halved until all slots together fit a budget, or are
// 4 KiB each. Results
// do not depend on it: tiles only say how often the lanes go round.
#include "runtime/cpu/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

#include "runtime/cpu/worker.h"

namespace coll {

namespace {

constexpr uint64_t kSlotBudgetBytes = 256ull << 20;
constexpr uint64_t kLeastSlotBytes = 4096;
// A thread looks this often before it sleeps, where each rank can have a core: some 50 us on a 2.6 GHz Xeon, about
// what going to sleep and being woken costs.
constexpr uint32_t kSpins = 1000;

// Null when there is no memory, and for no bytes.
Bytes allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr uint64_t kAlignment = 4096;
  return Bytes(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
}

}  // namespace

struct Executor::State {
  enum class Job { kPrepare, kRun, kStop };

  explicit State(std::shared_ptr<const Plan> plan, ExecutorOptions options) {
    options.slots = std::max<uint32_t>(1, options.slots);
    // A caller's "for ever" must not overflow the clock's arithmetic.
    options.timeout = std::min<std::chrono::milliseconds>(options.timeout, std::chrono::hours(24 * 365));
    world.plan = std::move(plan);
    world.options = options;
    const Plan& p = *world.plan;
    world.shares = shareable_messages(p);
    world.signals_per_tile.assign(p.counters.size(), 0);
    for (const Instruction& i : p.instructions)
      if (i.op == Opcode::kSignal) ++world.signals_per_tile[i.counter];
    world.rings = std::vector<Ring>(p.connections.size() * p.instances);
    world.counters = std::make_unique<SignalCounter[]>(p.counters.size() * p.instances);
    world.events = std::vector<Event>(p.ranks());
    world.scratch.resize(p.ranks());
    scratch_bytes.assign(p.ranks(), 0);
    world.spins = p.ranks() <= std::thread::hardware_concurrency() ? kSpins : 0;
    if (options.order_seed != 0) world.spins = 0;
    for (uint32_t r = 0; r < p.ranks(); ++r) workers.push_back(std::make_unique<Worker>(world, r));
    start_threads();
  }

  ~State() { stop_threads(); }

  // One for each rank or none: without one of them no call could end.
  void start_threads() {
    try {
      threads.reserve(workers.size());
      for (uint32_t r = 0; r < workers.size(); ++r) threads.emplace_back([this, r] { serve(r); });
    } catch (const std::exception& e) {  // std::system_error, or std::bad_alloc for what a thread is kept in
      not_started = Status(StatusCode::kUnavailable,
                           fmt::format("each of {} ranks needs a thread, of which {} could be started: {}",
                                       workers.size(), threads.size(), e.what()));
      stop_threads();
    }
  }
  void stop_threads() {
    job = Job::kStop;
    release();
    for (std::thread& t : threads) t.join();
    threads.clear();
  }

  void release() {
    busy.store(static_cast<uint32_t>(workers.size()));
    generation.fetch_add(1);
    generation.notify_all();
  }
  // Lets all workers do it and waits for them.
  void do_job(Job what) {
    job = what;
    release();
    for (uint32_t left = busy.load(); left != 0; left = busy.load()) busy.wait(left);
  }

  void serve(uint32_t rank) {
    uint32_t seen = 0;
    while (true) {
      generation.wait(seen);
      ++seen;
      if (job == Job::kStop) return;
      try {
        if (job == Job::kPrepare)
          workers[rank]->prepare(*layout);
        else
          workers[rank]->run();
      } catch (const std::bad_alloc&) {
        rank_out_of_memory.store(true);
        if (job == Job::kRun) world.fail();
      }
      if (busy.fetch_sub(1) == 1) busy.notify_all();
    }
  }

  Status check(const CallSpec& spec, const std::vector<std::vector<RankBuffers>>& buffers, uint32_t calls) const;
  Status fit(const CallSpec& spec);
  Status story();

  World world;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  std::unique_ptr<Layout> layout;
  Bytes slot_memory;
  uint64_t slot_memory_bytes = 0;
  std::vector<uint64_t> scratch_bytes;
  Status not_started;  // why there are no threads
  Status failure;
  uint32_t calls_done = 0;

  Job job = Job::kPrepare;
  std::atomic<uint32_t> generation{0}, busy{0};
  std::atomic<bool> rank_out_of_memory{false};  // a rank's thread could not go on
};

Status Executor::State::check(const CallSpec& spec, const std::vector<std::vector<RankBuffers>>& buffers,
                              uint32_t calls) const {
  const Plan& plan = *world.plan;
  auto invalid = [](std::string why) { return Status(StatusCode::kInvalid, std::move(why)); };
  if (plan.only_rank != kAllRanks) return invalid("this is one rank's part of a plan, which does not run alone");
  if (plan.contract.reduces() && !supports(spec.op, spec.sizes.dtype))
    return invalid(fmt::format("operator {} is not defined for {}", name(spec.op), name(spec.sizes.dtype)));
  if (plan.contract.reduces() && spec.op == RedOp::kPremul && spec.premul.size() != plan.ranks())
    return invalid(fmt::format("premul needs a factor for each of {} ranks, got {}", plan.ranks(), spec.premul.size()));
  if (plan.contract.kind != ContractKind::kAllToAllV && !spec.sizes.counts.empty())
    return invalid(fmt::format("{} takes one count, not a table of them", plan.contract.name));
  if (plan.contract.kind == ContractKind::kAllToAllV &&
      spec.sizes.counts.size() != static_cast<size_t>(plan.ranks()) * plan.ranks())
    return invalid(fmt::format("alltoallv needs {0} x {0} counts, got {1}", plan.ranks(), spec.sizes.counts.size()));
  if (buffers.size() != 1 && buffers.size() != calls)
    return invalid(fmt::format("{} calls need one set of buffers or as many as calls, got {}", calls, buffers.size()));
  for (const auto& call : buffers) {
    if (call.size() != plan.ranks())
      return invalid(fmt::format("{} ranks need as many buffers, got {}", plan.ranks(), call.size()));
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      auto elements = [&](bool is_out, uint32_t blocks) {
        return block_offset(plan.contract, spec.sizes, is_out, r, blocks);
      };
      if (call[r].in == nullptr && elements(false, plan.contract.in_blocks(r)) > 0)
        return invalid(fmt::format("rank {} has no input buffer", r));
      if (call[r].out == nullptr && elements(true, plan.contract.out_blocks(r)) > 0)
        return invalid(fmt::format("rank {} has no output buffer", r));
      // Buffers that touch must lie as the contract says, and the plan must be one that allows it.
      uint64_t bytes = size_bytes(spec.sizes.dtype);
      auto in = reinterpret_cast<uintptr_t>(call[r].in), out = reinterpret_cast<uintptr_t>(call[r].out);
      uintptr_t in_end = in + elements(false, plan.contract.in_blocks(r)) * bytes;
      uintptr_t out_end = out + elements(true, plan.contract.out_blocks(r)) * bytes;
      if (in == in_end || out == out_end || in_end <= out || out_end <= in) continue;
      if (!plan.inplace)
        return invalid(fmt::format("rank {}: the plan cannot be called in place, but in and out overlap", r));
      int64_t shift = plan.contract.inplace_shift(r) * static_cast<int64_t>(spec.sizes.count * bytes);
      if (in != out + static_cast<uintptr_t>(shift))
        return invalid(fmt::format("rank {}: in and out overlap; in place, in must lie {} bytes behind out", r, shift));
    }
  }
  return {};
}

// Makes programs, slots and scratch fit the sizes of this run; nothing to do if they are those of the last.
Status Executor::State::fit(const CallSpec& spec) {
  const Plan& plan = *world.plan;
  if (spec.op == RedOp::kAvg && !world.completion) world.completion.emplace(plan);
  if (spec.op == RedOp::kAvg && !world.completion->can_average()) return {StatusCode::kInvalid, kNoAverage};
  if (layout != nullptr && layout->sizes().count == spec.sizes.count && layout->sizes().dtype == spec.sizes.dtype &&
      layout->sizes().counts == spec.sizes.counts)
    return {};
  uint64_t slots = world.rings.size() * static_cast<uint64_t>(world.options.slots);
  uint64_t slot_bytes = world.options.slot_bytes;
  while (slot_bytes > kLeastSlotBytes && slots * slot_bytes > kSlotBudgetBytes) slot_bytes /= 2;
  layout.reset();  // until all is there for it
  auto next = std::make_unique<Layout>(plan, spec.sizes, slot_bytes);
  auto out_of_memory = [](uint64_t bytes, const char* what) {
    return Status(StatusCode::kUnavailable, fmt::format("out of memory: {} bytes of {} cannot be had", bytes, what));
  };

  uint64_t each = (next->tiling().slot_bytes + 63) / 64 * 64;
  if (slot_memory_bytes < slots * each) {
    slot_memory_bytes = 0;
    slot_memory = allocate(slots * each);
    if (slot_memory == nullptr) return out_of_memory(slots * each, "message slots");
    slot_memory_bytes = slots * each;
  }
  for (size_t r = 0; r < world.rings.size(); ++r)
    world.rings[r].resize(world.options.slots, slot_memory.get() + r * world.options.slots * each, each);
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    uint64_t bytes = next->buffer_elements(r, buffers::kScratch) * size_bytes(spec.sizes.dtype);
    if (bytes <= scratch_bytes[r]) continue;
    scratch_bytes[r] = 0;
    world.scratch[r] = allocate(bytes);
    if (world.scratch[r] == nullptr) return out_of_memory(bytes, "scratch");
    scratch_bytes[r] = bytes;
  }
  layout = std::move(next);
  do_job(Job::kPrepare);
  if (!rank_out_of_memory.exchange(false)) return {};
  layout.reset();
  return {StatusCode::kUnavailable, "out of memory for the ranks' instructions"};
}

// Who waits for whom, the rank that noticed first.
Status Executor::State::story() {
  StatusCode code = StatusCode::kAborted;
  std::string first, others;
  uint32_t told = 0;
  for (const auto& w : workers) {
    if (w->story.empty()) continue;
    if (w->code != StatusCode::kAborted && first.empty()) {
      code = w->code;
      first = w->story;
    } else if (++told <= 8) {
      others += "\n  meanwhile " + w->story;
    }
  }
  return Status(code, first + others);
}

Executor::Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options)
    : state_(std::make_unique<State>(std::move(plan), options)) {}

Executor::~Executor() = default;

Status Executor::run(const CallSpec& spec, const std::vector<std::vector<RankBuffers>>& buffers, uint32_t calls,
                     double* seconds) {
  State& s = *state_;
  if (!s.failure.ok())
    return Status(StatusCode::kAborted, "this executor failed before and cannot be used: " + s.failure.message());
  if (Status status = s.check(spec, buffers, calls); !status.ok()) return status;
  if (!s.not_started.ok()) return s.not_started;
  if (Status status = s.fit(spec); !status.ok()) return status;
  s.world.spec = &spec;
  s.world.buffers = &buffers;
  s.world.first_call = s.calls_done;
  s.world.calls = calls;
  s.world.scales = spec.op == RedOp::kPremul && s.world.plan->contract.reduces();
  s.do_job(State::Job::kRun);
  s.calls_done += calls;
  if (s.rank_out_of_memory.load())
    return s.failure = Status(StatusCode::kUnavailable, "a rank ran out of memory in a call");
  if (s.world.failed.load()) return s.failure = s.story();
  if (seconds != nullptr) {
    Clock::time_point first = Clock::time_point::max(), last = Clock::time_point::min();
    for (const auto& w : s.workers) {
      first = std::min(first, w->entered);
      last = std::max(last, w->left);
    }
    *seconds = s.workers.empty() ? 0 : std::chrono::duration<double>(last - first).count();
  }
  return {};
}

}  // namespace coll
