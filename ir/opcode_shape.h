#pragma once
// What operands each instruction takes, as a table, and whether an instruction's ids, places and counters exist.
//
// Reader and verifier ask the same functions, so a plan built in memory is held to what a plan in text is held to.
// After shape_error() has said nothing, no later code can index out of range through this instruction (its `after`
// list aside, which needs the other lanes of the rank).
#include <cstdint>

#include "ir/plan.h"

namespace coll {

enum class ShapeFault : uint8_t {
  kNone,
  kSources,        // number or kind of the sources
  kDestinations,   // number or kind of the destinations
  kGrid,           // grid that is not in the plan
  kPart,           // part outside the grid
  kLength,         // zero places
  kBuffer,         // buffer that a plan does not have
  kPlace,          // place outside the buffer (of this rank, of the peer, of some rank of the group)
  kRank,           // peer outside the world
  kPeerIsSelf,     // a rank as its own peer
  kConnection,     // connection that is not in the plan
  kConnectionEnd,  // source of a message that is not for us, or destination that does not begin here
  kGroup,          // group that is not in the plan
  kGroupMember,    // rank outside the group that it addresses
  kCounter,        // counter that is not in the plan
  kCounterEnd,     // signal of a counter whose signaller we are not, or wait for one that we do not own
  kWaitValue,      // wait for zero signals
};

struct ShapeError {
  ShapeFault fault = ShapeFault::kNone;
  int operand = -1;  // index into the instruction's operands; -1: about the whole instruction
  explicit operator bool() const { return fault != ShapeFault::kNone; }
};

// Allowed operands of an opcode, in words: "local..., connection -> local".
const char* shape(Opcode);

// Only numbers and kinds of operands.
ShapeError check_operands(const Plan&, const Instruction&);
// Everything. `rank` must be of the world, operands inside Plan::operands; needs no derived fields.
ShapeError check_shape(const Plan&, uint32_t rank, const Instruction&);

// The reason in a phrase, or nullptr.
const char* shape_error(const Plan&, uint32_t rank, const Instruction&);
const char* reason(ShapeFault);

}  // namespace coll
