#include "ir/layout.h"

#include <algorithm>

namespace coll {

namespace {

// alltoallv has a length for each pair of ranks; what must hold any of them is as long as the longest.
uint64_t longest_block(const Sizes& sizes) {
  uint64_t longest = sizes.count;
  for (uint64_t c : sizes.counts) longest = std::max(longest, c);
  return longest;
}

}  // namespace

Layout::Layout(const Plan& plan, Sizes sizes, uint64_t slot_bytes)
    : plan_(plan),
      sizes_(std::move(sizes)),
      tiling_(make_tiling(plan.grids, sizes_, plan.instances, plan.max_message_parts, slot_bytes)) {
  for (const Grid& grid : plan.grids)
    scratch_place_ =
        std::max(scratch_place_, longest_part(grid, longest_block(sizes_), size_bytes(sizes_.dtype), plan.instances));
}

uint64_t Layout::buffer_elements(uint32_t rank, uint16_t buffer) const {
  if (buffer == buffers::kScratch) return plan_.scratch_places[rank] * scratch_place_ * plan_.instances;
  bool is_out = buffer == buffers::kOut;
  uint32_t blocks = is_out ? plan_.contract.out_blocks(rank) : plan_.contract.in_blocks(rank);
  return block_offset(plan_.contract, sizes_, is_out, rank, blocks);
}

Extent Layout::extent(uint32_t rank, const Instruction& instruction, uint32_t i, uint32_t instance) const {
  const Grid& grid = plan_.grids[instruction.grid];
  uint64_t count = sizes_.count;
  if (!sizes_.counts.empty()) {
    // A block's length is known at its two ends only: the first operand in a user buffer tells it. Data that never
    // touches one here is taken for as long as can be (direct algorithms have none).
    count = longest_block(sizes_);
    uint32_t operands = instruction.source_count + instruction.destination_count;
    for (uint32_t o = 0; o < operands; ++o) {
      const Operand& operand = plan_.operands[instruction.first_operand + o];
      if (operand.space == Space::kConnection || operand.buffer == buffers::kScratch) continue;
      uint32_t owner = operand.space == Space::kPeer ? operand.rank : rank;
      count = block_length(plan_.contract, sizes_, operand.buffer == buffers::kOut, owner,
                           (operand.place + i) / grid.parts);
      break;
    }
  }
  uint32_t part = instruction.first_part == kLongestPart ? 0 : (instruction.first_part + i) % grid.parts;
  return part_extent(grid, count, size_bytes(sizes_.dtype), part, instance, plan_.instances);
}

uint64_t Layout::elements(uint32_t rank, const Instruction& instruction, uint32_t i, uint64_t tile,
                          uint32_t instance) const {
  return tile_of(extent(rank, instruction, i, instance), tiling_, tile).length;
}

uint64_t Layout::place_elements(uint32_t rank, const Instruction& instruction, uint32_t i, uint32_t instance) const {
  return extent(rank, instruction, i, instance).length;
}

uint64_t Layout::elements(uint32_t rank, const Instruction& instruction, uint64_t tile, uint32_t instance) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < instruction.length; ++i) sum += elements(rank, instruction, i, tile, instance);
  return sum;
}

uint64_t Layout::offset(uint32_t rank, const Instruction& instruction, const Operand& operand, uint32_t i,
                        uint64_t tile, uint32_t instance) const {
  uint64_t place = operand.place + i;
  uint64_t in_place = tile * tiling_.tile_elements;
  if (operand.buffer == buffers::kScratch) return (place * plan_.instances + instance) * scratch_place_ + in_place;
  const Grid& grid = plan_.grids[instruction.grid];
  bool is_out = operand.buffer == buffers::kOut;
  auto block = static_cast<uint32_t>(place / grid.parts);
  uint64_t count = block_length(plan_.contract, sizes_, is_out, rank, block);
  Extent extent = part_extent(grid, count, size_bytes(sizes_.dtype), static_cast<uint32_t>(place % grid.parts),
                              instance, plan_.instances);
  return block_offset(plan_.contract, sizes_, is_out, rank, block) + extent.begin + in_place;
}

}  // namespace coll
