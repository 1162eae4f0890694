#pragma once
// Which messages may stay in the sender's memory until the receiver has read them, and which results nobody reads soon.
//
// Ranks are threads of one process, so a message need not be copied into a slot if the memory that holds it keeps its
// value until the receiver has consumed it. Three things make that certain:
//   - the place is not written later in the call, by any rank, before the message is consumed. The plan has no races,
//     so a writer is ordered before or after the sending instruction, and the witness order agrees with that order.
//     If there are writers after it, the first one must come after the consumption (message_order.h); the others come
//     after the first;
//   - tiles and instances touch disjoint elements of a place, so they are no exception;
//   - a rank does not leave the call before the receivers have released what it shared (worker.cpp), so neither the
//     next call nor the caller can change it.
// In place, `in` is `out` of a shifted block: there the writers of both count.
#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace coll {

// By instruction.
struct Share {
  static constexpr uint8_t kNone = 0xff;
  uint8_t operand =
      kNone;              // index among its operands: the memory that holds the message it gives, if it may stay there
  bool in_place = false;  // also in a call in place
  // What it stores in `out` is read by no later instruction: it may be written around the caches.
  bool final_store = false;
};

// Cost: places moved by the plan, sorted, and a bounded search for each message whose place is written again.
std::vector<Share> shareable_messages(const Plan&);

}  // namespace coll
