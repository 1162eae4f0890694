#pragma once
// Where the elements of an operand are, for given run-time sizes. Used by the interpreter and by every executor, so
// that all of them agree.
#include <cstdint>
#include <vector>

#include "ir/plan.h"

namespace coll {

// Element ranges of a rank's buffers in one call. Cheap to ask; made once per (plan, sizes).
class Layout {
 public:
  Layout(const Plan& plan, Sizes sizes, uint64_t slot_bytes);

  const Sizes& sizes() const { return sizes_; }
  const Tiling& tiling() const { return tiling_; }
  uint64_t buffer_elements(uint32_t rank, uint16_t buffer) const;  // all instances

  // Elements that place `i` (0 .. length - 1) of an instruction of `rank` moves in tile t of an instance; the same at
  // both ends of a message.
  uint64_t elements(uint32_t rank, const Instruction&, uint32_t i, uint64_t tile, uint32_t instance) const;
  // The same over all tiles.
  uint64_t place_elements(uint32_t rank, const Instruction&, uint32_t i, uint32_t instance) const;
  // Of all places of it.
  uint64_t elements(uint32_t rank, const Instruction&, uint64_t tile, uint32_t instance) const;

  // First element of place `place + i` of an operand's buffer on `rank`, in tile t of an instance.
  uint64_t offset(uint32_t rank, const Instruction&, const Operand&, uint32_t i, uint64_t tile,
                  uint32_t instance) const;

 private:
  Extent extent(uint32_t rank, const Instruction&, uint32_t i, uint32_t instance) const;

  const Plan& plan_;
  Sizes sizes_;
  Tiling tiling_;
  uint64_t scratch_place_ = 0;  // elements of one scratch place and instance
};

}  // namespace coll
