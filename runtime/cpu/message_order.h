#pragma once
// Whether a message is certainly consumed before some instruction runs.
//
// A search backward along what the executor keeps in order: a lane's own steps, `after`, a message after its sender, a
// wait after the signal it waits for. Two cautions. An empty message orders nothing, so only messages of the same
// extents as the one in question are followed: they are empty only when it is. And the search gives up after a fixed
// number of instructions, about twice round a ring of all ranks; "not certain" costs a copy and nothing else.
#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace coll {

class MessageOrder {
 public:
  explicit MessageOrder(const Plan&);

  // True if the message that `send` (index into Plan::instructions) gives has been read whenever `later` runs, in the
  // same tile and instance.
  bool consumed_before(uint32_t send, uint32_t later) const;

 private:
  static constexpr uint32_t kNone = 0xffffffffu;

  const Plan& plan_;
  std::vector<uint32_t> lane_of_;               // by instruction
  std::vector<uint32_t> sender_;                // by receiving instruction
  std::vector<uint32_t> receiver_;              // by sending instruction
  std::vector<std::vector<uint32_t>> signals_;  // by counter, in order
};

}  // namespace coll
