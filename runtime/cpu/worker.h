#pragma once
// One rank of the executor: its lanes as cooperative state machines, run by the rank's thread.
//
// A lane goes as far as it can: an instruction either has all it needs (dependences, a message at hand, a free slot,
// signals) and is done to its end, or nothing of it is done and the next lane is tried. When no lane can go on, the
// thread looks again for a little while (only if every rank can have a core), then sleeps until a peer publishes a
// message, frees a slot or signals. So any number of ranks and lanes shares the cores without spinning at each other.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/complete.h"
#include "ir/interpret.h"
#include "runtime/cpu/event.h"
#include "runtime/cpu/executor.h"
#include "runtime/cpu/program.h"
#include "runtime/cpu/ring.h"

namespace coll {

using Clock = std::chrono::steady_clock;

// A counter in a rank's memory.
struct alignas(64) SignalCounter {
  std::atomic<uint64_t> value{0};
};

struct FreeBytes {
  void operator()(std::byte* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<std::byte[], FreeBytes>;

// What all ranks share. Changed by the executor only while no rank runs, but for the atomics inside.
struct World {
  std::shared_ptr<const Plan> plan;
  ExecutorOptions options;
  std::vector<Share> shares;                  // by instruction
  std::vector<uint32_t> signals_per_tile;     // by counter
  std::optional<Completion> completion;       // once avg is used
  std::vector<Ring> rings;                    // connection * instances + instance
  std::unique_ptr<SignalCounter[]> counters;  // counter * instances + instance
  std::vector<Event> events;                  // by rank
  std::vector<Bytes> scratch;                 // by rank
  std::atomic<bool> failed{false};
  uint32_t spins = 0;  // how often a thread looks again before it sleeps

  // Of the run in progress.
  const CallSpec* spec = nullptr;
  const std::vector<std::vector<RankBuffers>>* buffers = nullptr;
  uint32_t first_call = 0;  // number of its first call since the executor was made
  uint32_t calls = 0;
  bool scales = false;  // premul

  void fail() {
    failed.store(true);
    for (Event& e : events) e.wake();
  }
};

class Worker {
 public:
  Worker(World& world, uint32_t rank);

  void prepare(const Layout&);  // for new sizes
  void run();                   // world.calls calls

  // After a run.
  Clock::time_point entered, left;
  // Of the rank that found the failure, and of every other that was stopped by it: what its first blocked lane waits
  // for. Empty when the rank had finished.
  StatusCode code = StatusCode::kOk;
  std::string story;

 private:
  struct LaneState {
    uint32_t lane = 0, instance = 0;  // lane within the rank
    uint32_t first = 0, count = 0;    // steps
    uint64_t tile = 0;
    uint32_t step = 0;
    uint64_t progress = 0;  // steps done, over all tiles
    bool done = false;
  };

  bool run_call();
  void start_call();
  bool pass();               // tries every lane once; true if any went on
  bool advance(LaneState&);  // true if it went on
  bool ready(LaneState&, const Step&, uint64_t elements);
  bool finished();  // lanes done, and receivers done with what was shared
  bool dependences_met(const LaneState&, const Instruction&) const;
  uint64_t signals_wanted(const LaneState&, const Instruction&) const;
  void execute(LaneState&, const Step&, uint64_t elements);
  void move(LaneState&, const Step&, uint64_t elements);
  bool wait(Clock::time_point deadline);
  void give_up(StatusCode);
  std::string describe_wait();
  std::string describe_lane(LaneState&);

  Ring& ring(uint32_t connection, uint32_t instance) {
    return world_.rings[static_cast<size_t>(connection) * plan_.instances + instance];
  }
  std::byte* memory(const MemoryRef& ref, uint32_t place, const LaneState& lane) const;

  World& world_;
  const Plan& plan_;
  uint32_t rank_;
  Program program_;
  std::vector<LaneState> lanes_;        // lane * instances + instance
  std::vector<uint32_t> order_;         // in which lanes are tried
  std::vector<uint32_t> shared_rings_;  // rings on which something was shared in this call
  size_t unfinished_ = 0;
  std::vector<uint64_t> counter_base_;  // by counter (ours only): signals of earlier calls

  uint32_t call_ = 0;  // within the run
  const std::vector<RankBuffers>* buffers_ = nullptr;
  bool in_place_ = false;
  bool large_ = false;  // final results are written around the caches
  uint32_t element_bytes_ = 1;
  Clock::time_point call_entered_;
  std::mt19937_64 random_;
  std::vector<std::byte> staging_;
};

}  // namespace coll
