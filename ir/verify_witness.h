#pragma once
// The witness order of a plan: Instruction::order, in which the interpreter runs it.
#include <cstdint>

#include "ir/plan.h"

namespace coll {

// Gives every instruction its position in an order in which the plan runs with this many slots per connection (0:
// unlimited). False, and nothing changed, if there is none or the plan is malformed. For plans made by other means than
// lowering: imported, written by hand, mutated.
bool assign_witness(Plan&, uint32_t slots = 0);

}  // namespace coll
