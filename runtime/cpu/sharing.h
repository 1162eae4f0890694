#pragma once
// Which messages may stay in the sender's memory until the receiver has read them.
//
// Ranks are threads of one process, so a message need not be copied into a slot if the memory that holds it keeps its
// value until the receiver has consumed it. Three things make that certain:
//   - no instruction of the plan, of any rank, writes the place later in the call. The plan has no races, so a writer
//     is ordered before or after the sending instruction, and the witness order agrees with that order: a place whose
//     last writer comes no later than the sender, is not written again;
//   - tiles and instances touch disjoint elements of a place, so they are no exception;
//   - a rank does not leave the call before the receivers have released what it shared (worker.cpp), so neither the
//     next call nor the caller can change it.
// In place, `in` is `out` of a shifted block: there the last writer of both counts.
#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace coll {

// By instruction: what may be published instead of a copy in a slot.
struct Share {
  static constexpr uint8_t kNone = 0xff;
  uint8_t operand = kNone;  // index among the instruction's operands: the memory that holds the message
  bool in_place = false;    // also in a call in place
  // What the instruction stores in `out` is read by no later instruction: it may be written around the caches.
  bool final_store = false;
};

// Cost: places moved by the plan.
std::vector<Share> shareable_messages(const Plan&);

}  // namespace coll
