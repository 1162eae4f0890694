#pragma once
// One plan run at one size: buffers of all ranks, inputs, the measured call, and the judgement of every element.
//
// Outputs are poisoned before the first and the last call; both start from the same inputs, so both must give the same
// bits; the calls in between are timed (in place they feed on their own results, which costs the same). The first
// call is compared bit for bit with the interpreter, and with the contract's definition within its error bound.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "frontend/values.h"
#include "frontend/workload.h"
#include "ir/interpret.h"
#include "ir/plan.h"
#include "runtime/cpu/executor.h"

namespace coll {

// Buffers of all ranks above which the interpreter is left out: it does about 100 MB/s, one rank after the other.
inline constexpr uint64_t kInterpreterLimitBytes = 256ull << 20;

// A sample is one call, or as many calls in a row as last this long together: the ranks are not stopped between them,
// as in nccl-tests. (A call of 1 us would otherwise be measured with the 40 us that waking its threads takes.)
inline constexpr double kSampleSeconds = 2e-3;
inline constexpr double kMostInARow = 200;

struct TrialOptions {
  bool check = true;
  uint64_t seed = 1;
  uint32_t warmup = 3;
  uint32_t iterations = 20;
  double budget_seconds = 0.5;  // stop timing early after this, but not before 3 iterations; 0: never
};

struct Outcome {
  double time_us = 0;  // of one call: median over the samples of the wall time from first entry to last exit
  uint32_t timed_calls = 0;
  bool checked = false;
  bool interpreted = false;  // also compared with the interpreter
  uint64_t wrong = 0;        // elements
  std::string first_wrong;   // a sentence about the first of them
};

class Trial {
 public:
  Trial(const Plan& plan, Executor& executor, CallSpec spec, Workload workload, const TrialOptions& options);

  // Bytes of memory that allocate() will take.
  uint64_t bytes_needed() const;
  Status allocate();

  void random_inputs();
  void set_input(uint32_t rank, const void* data);

  Status measure(bool in_place, Outcome&);
  // A rank's `out` after measure().
  const void* output(uint32_t rank) const;
  uint64_t output_elements(uint32_t rank) const { return side_elements(plan_.contract, spec_.sizes, true, rank); }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  // Memory with guard bytes before and behind it.
  struct Memory {
    std::unique_ptr<char, Free> all;
    uint64_t bytes = 0;
    char* data() const;
    bool guards_intact() const;
  };
  static bool make(Memory&, uint64_t bytes);

  uint64_t element_bytes() const { return size_bytes(spec_.sizes.dtype); }
  uint64_t area_bytes(uint32_t rank) const;
  char* out_of(const Memory& area, uint32_t rank) const;
  std::vector<RankBuffers> buffers(const std::vector<Memory>& areas, bool in_place) const;
  void reset(const std::vector<Memory>& areas, bool in_place) const;
  Status call(bool in_place, double* seconds, uint32_t times = 1);  // seconds: of one of them
  uint64_t output_hash() const;
  bool interpretable() const { return total_bytes_ <= kInterpreterLimitBytes; }

  Status compare_with_interpreter(bool in_place, Outcome&);
  Status compare_with_contract(Outcome&);
  void note_wrong(Outcome&, uint32_t rank, const Mismatch&, const void* expected, const char* by) const;

  const Plan& plan_;
  Executor& executor_;
  CallSpec spec_;
  Workload workload_;
  TrialOptions options_;
  uint64_t total_bytes_ = 0;   // inputs and outputs of all ranks
  std::vector<Memory> ins_;    // never written: what in-place calls start from
  std::vector<Memory> areas_;  // `out`, or the buffer of an in-place call
};

}  // namespace coll
