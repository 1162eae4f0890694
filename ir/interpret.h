#pragma once
// The reference interpreter: runs a Plan on real numbers, one instruction after the other, to the bit what every
// back end must give (any NaN equals any NaN). Plain scalar code, no cleverness.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/plan.h"
#include "ir/support/status.h"
#include "ir/types.h"

namespace coll {

// A rank's buffers for one call. In place: `in` and `out` overlap as Contract::inplace_shift says.
struct RankBuffers {
  const void* in = nullptr;
  void* out = nullptr;
};

struct CallSpec {
  Sizes sizes;
  RedOp op = RedOp::kSum;
  std::vector<double> premul;        // factor of each rank, RedOp::kPremul only
  uint64_t slot_bytes = 128 * 1024;  // of a message slot: fixes the tiling (results do not depend on it)
};

// Runs one call for all ranks. Errors: kInvalid for an operator that the type does not have or a buffer that is
// missing. The plan must be verified (an unverified one may read poisoned scratch, never out of bounds).
Status interpret(const Plan&, const CallSpec&, const std::vector<RankBuffers>&);

// What the contract defines, straight from the inputs and without a plan: for comparison with a result. Reductions are
// summed in rank order, in double for floats (exact integers wrap). `bound` receives for each element how far a
// correct result may be away (0: must be equal); see ir/README.md for the formula.
Status contract_result(const Contract&, const CallSpec&, uint32_t rank, const std::vector<const void*>& ins, void* out,
                       std::vector<double>* bound);

}  // namespace coll
