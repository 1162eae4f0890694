#include "ir/extent.h"

#include <algorithm>

#include "ir/support/check.h"

namespace coll {

namespace {

constexpr uint32_t kUnitBytes = 16;

uint64_t unit_elements(uint32_t element_bytes) { return std::max<uint32_t>(1, kUnitBytes / element_bytes); }

// Element at which fraction numerator/denominator of the block lies, rounded down to a unit; the end stays exact.
uint64_t share_bound(uint64_t count, uint32_t element_bytes, uint64_t numerator, uint64_t denominator) {
  if (numerator == denominator) return count;
  uint64_t unit = unit_elements(element_bytes);
  unsigned __int128 product = static_cast<unsigned __int128>(count) * numerator;
  return static_cast<uint64_t>(product / denominator) / unit * unit;
}

// Piece `index` of `parts` of a run of `length` elements, in units.
Extent cut(uint64_t begin, uint64_t length, uint64_t unit, uint64_t parts, uint64_t index) {
  uint64_t units = (length + unit - 1) / unit;
  uint64_t each = units / parts;
  uint64_t longer = units % parts;
  uint64_t first = index * each + std::min(index, longer);
  uint64_t size = each + (index < longer ? 1 : 0);
  uint64_t from = std::min(first * unit, length);
  uint64_t to = std::min((first + size) * unit, length);
  return {begin + from, to - from};
}

}  // namespace

Extent part_extent(const Grid& grid, uint64_t count, uint32_t element_bytes, uint32_t part, uint32_t instance,
                   uint32_t instances) {
  COLL_CHECK(part < grid.parts, "part outside its grid");
  uint64_t unit = unit_elements(element_bytes);
  uint64_t lo = share_bound(count, element_bytes, grid.lo, grid.denominator);
  uint64_t hi = share_bound(count, element_bytes, grid.hi, grid.denominator);
  Extent whole = cut(lo, hi - lo, unit, grid.parts, part);
  if (instances == 1) return whole;
  // Every part is cut where the longest one is, then clipped: so a piece of part i still fits in the same piece of
  // part j whenever i >= j. (Cutting each part by itself does not: 9 elements give 8 + 1, 8 elements give 4 + 4.)
  uint64_t longest = cut(lo, hi - lo, unit, grid.parts, 0).length;
  Extent piece = cut(0, longest, unit, instances, instance);
  uint64_t from = std::min(piece.begin, whole.length);
  uint64_t to = std::min(piece.begin + piece.length, whole.length);
  return {whole.begin + from, to - from};
}

uint64_t longest_part(const Grid& grid, uint64_t count, uint32_t element_bytes, uint32_t instances) {
  return part_extent(grid, count, element_bytes, 0, 0, instances).length;
}

uint64_t block_length(const Contract& c, const Sizes& s, bool is_out, uint32_t rank, uint32_t block) {
  if (c.kind != ContractKind::kAllToAllV) return s.count;
  return is_out ? s.counts[static_cast<size_t>(block) * c.ranks + rank]
                : s.counts[static_cast<size_t>(rank) * c.ranks + block];
}

uint64_t block_offset(const Contract& c, const Sizes& s, bool is_out, uint32_t rank, uint32_t block) {
  if (c.kind != ContractKind::kAllToAllV) return s.count * block;
  uint64_t offset = 0;
  for (uint32_t b = 0; b < block; ++b) offset += block_length(c, s, is_out, rank, b);
  return offset;
}

Tiling make_tiling(const std::vector<Grid>& grids, const Sizes& sizes, uint32_t instances, uint32_t max_message_parts,
                   uint64_t slot_bytes) {
  uint32_t bytes = size_bytes(sizes.dtype);
  uint64_t unit = unit_elements(bytes);
  uint64_t longest_count = sizes.count;
  for (uint64_t c : sizes.counts) longest_count = std::max(longest_count, c);
  uint64_t longest = 0;
  for (const Grid& g : grids) longest = std::max(longest, longest_part(g, longest_count, bytes, instances));
  uint64_t message_parts = std::max<uint32_t>(1, max_message_parts);
  uint64_t units = std::max<uint64_t>(1, slot_bytes / (message_parts * unit * bytes));
  Tiling t;
  t.tile_elements = std::min(units * unit, std::max(unit, (longest + unit - 1) / unit * unit));
  t.tiles = std::max<uint64_t>(1, (longest + t.tile_elements - 1) / t.tile_elements);
  t.slot_bytes = t.tile_elements * message_parts * bytes;
  return t;
}

}  // namespace coll
