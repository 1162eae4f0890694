#pragma once
// The CPU executor: ranks as threads, lanes as cooperative tasks on them. Bit for bit what ir/interpret.h gives.
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/interpret.h"
#include "ir/plan.h"
#include "ir/support/status.h"

namespace coll {

struct ExecutorOptions {
  uint32_t slots = 8;  // k: message slots per connection
  // Of a slot, at most (CallSpec::slot_bytes is the interpreter's). 8 slots of this fill the 2 MiB of L2 of a core;
  // measured from 32 KiB to 512 KiB: 128 KiB and more are within a few percent of each other at 64 MiB.
  uint64_t slot_bytes = 256 * 1024;
  std::chrono::milliseconds timeout{30000};  // of one call
  // Testing only: a seed other than 0 permutes the order in which lanes are tried and slows random lanes down.
  uint64_t order_seed = 0;
};

// Holds a plan's connections, counters, scratch and one thread per rank; calls may follow each other without barrier.
// One call at a time (run() blocks); not thread-safe.
class Executor {
 public:
  Executor(std::shared_ptr<const Plan> plan, ExecutorOptions options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `calls` calls in a row on all ranks; buffers[c][rank] are those of call c (one entry: reused by each call).
  // Ranks enter a call as soon as they have left the one before. kTimeout names who waits for whom; after a failure
  // the executor refuses further use. kUnavailable: a rank's thread could not be started, or memory is out. When
  // `seconds` is given, it gets the wall time from the first rank's entry to the last rank's exit over all calls.
  Status run(const CallSpec&, const std::vector<std::vector<RankBuffers>>& buffers, uint32_t calls = 1,
             double* seconds = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coll
