#pragma once
// Which reductions complete their set: where avg divides.
//
// avg divides once, in the instruction whose result first holds every contribution. No instruction says so; it follows
// from the plan: contributions are counted through it symbolically, once, in the witness order. (Marking it in the
// plan instead would let a plan lie about it; dividing at the end would round twice.)
#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace coll {

// What a call with avg is told when Completion::can_average() is false.
inline constexpr const char* kNoAverage =
    "this plan has no avg: it sums on from a result that is complete for some rank, and so divided already";

class Completion {
 public:
  // Cost: places moved by the plan, plus sorting instructions by their order. The plan must be verified.
  explicit Completion(const Plan&);

  // By what avg divides place i of the result of this reduction (index into Plan::instructions): the number of
  // contributions of the full set if the result is one, else 0.
  uint32_t divisor(uint32_t instruction, uint32_t i) const;

  // False if the plan sums on from a result that is complete for somebody (a prefix sum does, with a user's own
  // collective): it was divided already, so this plan has no avg.
  bool can_average() const { return can_average_; }

 private:
  static constexpr uint32_t kDiffers = 0xffffffffu;
  struct Place {
    uint32_t instruction, i, divisor;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<uint32_t> divisors_;  // of all places of an instruction, or kDiffers
  std::vector<Place> places_;       // sorted; of instructions whose places differ
  bool can_average_ = true;
};

// Indices of a plan's instructions in the witness order.
std::vector<uint32_t> witness_order(const Plan&);

}  // namespace coll
