#pragma once
// What a size on the command line means for a collective: elements per block, and the bytes that count as moved.
//
// S is all-gather's total output, reduce-scatter's total input, all-to-all's one buffer, the root's buffer of gather
// and scatter, else the buffer. algbw = S / time. busbw scales it so that it compares with one link's speed: by
// 2(n-1)/n for all-reduce, (n-1)/n for the collectives whose S has one block per rank, 1 for the other built-in ones;
// alltoallv counts the most bytes that leave a rank. A user's own collective and a barrier have none.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/report.h"
#include "ir/contract.h"
#include "ir/extent.h"

namespace coll {

struct Workload {
  Sizes sizes;
  uint64_t shown_count = 0;         // per block; of alltoallv the largest; of a barrier 0
  uint64_t size_bytes = 0;          // S of what is really run: blocks are whole elements
  std::optional<double> bus_bytes;  // busbw = bus_bytes / time
};

// Blocks that S counts.
uint64_t blocks_of_size(const Contract&);

// `size` bytes asked for, rounded down to whole elements of every block.
Workload workload_of_size(const Contract&, DType, uint64_t size);
Workload workload_of_count(const Contract&, DType, uint64_t count);
// alltoallv: counts[i * ranks + j].
Workload workload_of_counts(const Contract&, DType, std::vector<uint64_t> counts);

// Elements of the whole `in` or `out` of a rank.
uint64_t side_elements(const Contract&, const Sizes&, bool is_out, uint32_t rank);

// A table of whole numbers with one row per sending rank, one column per receiving rank: commas between, `#` begins a
// comment. Elements.
std::optional<std::vector<uint64_t>> read_counts(const std::string& path, uint32_t ranks, Report&);

}  // namespace coll
