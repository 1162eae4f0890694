#pragma once
// Runs a plan on threads of this process, with the caller's buffers.
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/plan.h"
#include "coll/status.h"

namespace collc {

enum class DType : uint8_t { kF16, kBF16, kF32, kF64, kF8E4M3, kF8E5M2, kI8, kU8, kI32, kU32, kI64, kU64 };
enum class RedOp : uint8_t { kSum, kProd, kMin, kMax, kAvg, kPremul, kBand, kBor, kBxor };

// One rank's buffers, of Plan::in_elements / out_elements elements. A rank that has no input or output may give null.
// In place (Plan::may_run_in_place): all-reduce, broadcast, reduce and all-to-all give in == out; all-gather and gather
// give in == out + rank * count, reduce-scatter and scatter out == in + rank * count (in elements).
struct Buffers {
  const void* in = nullptr;
  void* out = nullptr;
};

struct Call {
  uint64_t count = 0;  // elements per block
  DType dtype = DType::kF32;
  RedOp op = RedOp::kSum;
  std::vector<double> premul;    // RedOp::kPremul: the factor of each rank
  std::vector<uint64_t> counts;  // alltoallv: counts[i * ranks + j] elements go from rank i to rank j
};

struct RunnerOptions {
  uint32_t slots = 8;                        // message slots per connection
  uint64_t slot_bytes = 0;                   // of a slot; 0: the default
  std::chrono::milliseconds timeout{30000};  // of one call
};

// One thread per rank, kept between calls. Not thread-safe: one call at a time.
class Runner {
 public:
  // Verifies the plan first. Errors: kRefused with the story.
  static Result<Runner> create(const Plan& plan, const RunnerOptions& options = {});

  // Runs one call on all ranks and returns when every rank has left it. buffers[rank]. Errors: kInvalid before anything
  // ran; kTimeout, after which the runner refuses further use (kAborted).
  Status run(const Call& call, const std::vector<Buffers>& buffers);

  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace collc
