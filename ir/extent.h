#pragma once
// Extents: which elements a place is. One shared function for the interpreter, the CPU executor and exporters.
//
// A block of `count` elements, or a share [lo, hi) of it, is cut into `parts` parts in units of 16 bytes: the first
// (units mod parts) parts are one unit longer, the last non-empty one is clipped to the block. So part lengths never
// grow with the index, and "part i fits in place j for every count" is just i >= j.
//
// A *place* of a buffer is block * parts + part of its grid. The places of `scratch` all have the longest part's
// length, so anything fits there.
#include <cstdint>
#include <vector>

#include "ir/contract.h"
#include "ir/types.h"

namespace coll {

// How blocks are cut. `lo`/`hi` are the share of each block that this grid covers, as fractions over `denominator`;
// the grids of one plan cover disjoint shares.
struct Grid {
  uint32_t parts = 1;
  uint64_t lo = 0, hi = 1, denominator = 1;
  bool operator==(const Grid&) const = default;
};

// Run-time sizes of one call.
struct Sizes {
  uint64_t count = 0;  // elements per block
  DType dtype = DType::kF32;
  // alltoallv only: counts[i * ranks + j] elements go from rank i to rank j. Empty otherwise.
  std::vector<uint64_t> counts;
};

struct Extent {
  uint64_t begin = 0;   // elements from the start of the block (or of the buffer, see place_extent)
  uint64_t length = 0;  // elements
};

// Part `part` of a block of `count` elements of `element_bytes` cut by `grid`, further cut into `instances` pieces of
// which piece `instance` is meant.
Extent part_extent(const Grid& grid, uint64_t count, uint32_t element_bytes, uint32_t part, uint32_t instance = 0,
                   uint32_t instances = 1);

// Elements of the longest part (part 0) of the grid.
uint64_t longest_part(const Grid& grid, uint64_t count, uint32_t element_bytes, uint32_t instances = 1);

// True if part `from` fits in part `to` of the same grid for every count.
inline bool fits_for_every_count(uint32_t from, uint32_t to) { return from >= to; }

// Elements of a whole block / offset of a block in `in` or `out` of a rank (alltoallv: by counts).
uint64_t block_length(const Contract&, const Sizes&, bool is_out, uint32_t rank, uint32_t block);
uint64_t block_offset(const Contract&, const Sizes&, bool is_out, uint32_t rank, uint32_t block);

// Tiles: the outermost loop of every lane. Tile t of a part is its elements [t * tile, (t+1) * tile).
struct Tiling {
  uint64_t tile_elements = 1;  // per part
  uint64_t tiles = 1;          // of the longest part; at least 1
  uint64_t slot_bytes = 0;     // what one message slot must hold: max_message_parts * tile_elements * element bytes
};

// A pure function of (grids, sizes, instances, max_message_parts, slot_bytes wished for): equal at both ends.
Tiling make_tiling(const std::vector<Grid>& grids, const Sizes& sizes, uint32_t instances, uint32_t max_message_parts,
                   uint64_t slot_bytes);

// The piece [t*tile, (t+1)*tile) of an extent.
inline Extent tile_of(const Extent& e, const Tiling& tiling, uint64_t t) {
  uint64_t begin = t * tiling.tile_elements;
  if (begin >= e.length) return {e.begin + e.length, 0};
  uint64_t left = e.length - begin;
  return {e.begin + begin, left < tiling.tile_elements ? left : tiling.tile_elements};
}

}  // namespace coll
