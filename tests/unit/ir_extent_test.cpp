// Extents: properties that lowering, interpreter, executors and exporters rely on, over a grid of counts that are
// small, prime, not divisible and large; and the small cases that went wrong first.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "ir/extent.h"

namespace coll {
namespace {

const std::vector<uint64_t>& counts() {
  static const std::vector<uint64_t> list = [] {
    std::vector<uint64_t> all(70);
    std::iota(all.begin(), all.end(), 0);
    for (uint64_t c : {97ull, 127ull, 128ull, 1000ull, 1021ull, 4096ull, 65537ull, (1ull << 40) + 7}) all.push_back(c);
    return all;
  }();
  return list;
}

constexpr uint32_t kElementBytes[] = {1, 2, 4, 8};

const std::vector<Grid>& grids() {
  static const std::vector<Grid> list = {
      {1}, {2}, {3}, {7}, {8}, {64}, {3, 0, 1, 3}, {2, 1, 3, 3}, {5, 2, 7, 10}, {4, 7, 10, 10}, {2, 1, 1, 2}};
  return list;
}

// Calls f(grid, count, element bytes) for all of them.
template <class F>
void for_all(F f) {
  for (const Grid& grid : grids())
    for (uint64_t count : counts())
      for (uint32_t bytes : kElementBytes) {
        SCOPED_TRACE(testing::Message() << "parts " << grid.parts << " share " << grid.lo << ".." << grid.hi << " of "
                                        << grid.denominator << " count " << count << " bytes " << bytes);
        f(grid, count, bytes);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Extent, PartsPartitionTheShareInOrder) {
  for_all([](const Grid& grid, uint64_t count, uint32_t bytes) {
    Extent first = part_extent(grid, count, bytes, 0);
    ASSERT_TRUE(grid.lo != 0 || first.begin == 0);
    uint64_t at = first.begin;
    for (uint32_t p = 0; p < grid.parts; ++p) {
      Extent e = part_extent(grid, count, bytes, p);
      ASSERT_EQ(e.begin, at) << "part " << p;
      at += e.length;
    }
    ASSERT_LE(at, count);
    ASSERT_TRUE(grid.hi != grid.denominator || at == count);
  });
}

TEST(Extent, LengthsNeverGrowAndStartsAreAligned) {
  for_all([](const Grid& grid, uint64_t count, uint32_t bytes) {
    uint64_t before = UINT64_MAX;
    for (uint32_t p = 0; p < grid.parts; ++p) {
      Extent e = part_extent(grid, count, bytes, p);
      ASSERT_LE(e.length, before) << "part " << p;
      ASSERT_TRUE(e.length == 0 || e.begin * bytes % 16 == 0) << "part " << p;
      before = e.length;
    }
    ASSERT_EQ(longest_part(grid, count, bytes), part_extent(grid, count, bytes, 0).length);
  });
}

TEST(Extent, LengthsDifferByAUnitAtMost) {
  for_all([](const Grid& grid, uint64_t count, uint32_t bytes) {
    uint64_t unit = 16 / bytes;
    uint64_t longest = part_extent(grid, count, bytes, 0).length;
    for (uint32_t p = 0; p < grid.parts; ++p) {
      Extent e = part_extent(grid, count, bytes, p);
      uint64_t units = (e.length + unit - 1) / unit;
      ASSERT_LE((longest + unit - 1) / unit - units, 1u);
    }
  });
}

TEST(Extent, InstancesPartitionAPart) {
  for_all([](const Grid& grid, uint64_t count, uint32_t bytes) {
    for (uint32_t instances : {1u, 2u, 3u, 8u}) {
      for (uint32_t p = 0; p < grid.parts; ++p) {
        Extent whole = part_extent(grid, count, bytes, p);
        uint64_t at = whole.begin;
        for (uint32_t i = 0; i < instances; ++i) {
          Extent e = part_extent(grid, count, bytes, p, i, instances);
          ASSERT_EQ(e.begin, at) << "part " << p << " instance " << i;
          at += e.length;
          ASSERT_LE(e.length, longest_part(grid, count, bytes, instances));
        }
        ASSERT_EQ(at, whole.begin + whole.length);
      }
    }
  });
}

// fits_for_every_count(i, j): i >= j, for every instance; and for nothing less.
TEST(Extent, APieceFitsTheSamePieceOfAnEarlierPart) {
  for_all([](const Grid& grid, uint64_t count, uint32_t bytes) {
    for (uint32_t instances : {1u, 2u, 5u})
      for (uint32_t i = 0; i < instances; ++i)
        for (uint32_t p = 1; p < grid.parts; ++p)
          ASSERT_LE(part_extent(grid, count, bytes, p, i, instances).length,
                    part_extent(grid, count, bytes, p - 1, i, instances).length);
  });
  for (uint32_t from = 0; from < 4; ++from) {
    for (uint32_t to = 0; to < 4; ++to) {
      bool always = true;
      for (uint64_t count : counts())
        always &= part_extent({4}, count, 4, from).length <= part_extent({4}, count, 4, to).length;
      EXPECT_EQ(always, fits_for_every_count(from, to)) << from << " into " << to;
    }
  }
}

TEST(Extent, SharesPartitionTheBlock) {
  const std::vector<std::vector<uint64_t>> kWeights = {{1, 1}, {1, 2, 3}, {5, 0, 5}, {1, 1, 1, 1, 1, 1, 1}, {999, 1}};
  for (const auto& weights : kWeights) {
    uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
    for (uint64_t count : counts()) {
      for (uint32_t bytes : kElementBytes) {
        uint64_t at = 0, sum = 0;
        for (uint64_t w : weights) {
          Grid grid{3, sum, sum + w, total};
          sum += w;
          for (uint32_t p = 0; p < grid.parts; ++p) {
            Extent e = part_extent(grid, count, bytes, p);
            ASSERT_TRUE(e.length == 0 || e.begin == at) << "count " << count << " bytes " << bytes;
            at += e.length;
          }
        }
        ASSERT_EQ(at, count);
      }
    }
  }
}

TEST(Extent, TilesPartitionEveryPieceAndFitTheirSlot) {
  for (uint64_t count : counts()) {
    if (count > 100000) continue;  // as many tiles as that has would take minutes
    for (DType type : {DType::kF8E4M3, DType::kBF16, DType::kF32, DType::kI64}) {
      uint32_t bytes = size_bytes(type);
      for (uint64_t slot : {1ull, 64ull, 1000ull, 131072ull}) {
        for (uint32_t instances : {1u, 3u}) {
          for (uint32_t message_parts : {1u, 4u}) {
            const std::vector<Grid> cut = {{3, 0, 2, 3}, {2, 2, 3, 3}};
            Tiling tiling = make_tiling(cut, {count, type, {}}, instances, message_parts, slot);
            ASSERT_GE(tiling.tiles, 1u);
            ASSERT_EQ(tiling.tile_elements * bytes % 16, 0u);
            ASSERT_EQ(tiling.slot_bytes, tiling.tile_elements * bytes * message_parts);
            ASSERT_LE(tiling.slot_bytes, std::max<uint64_t>(slot, 16u * message_parts));
            for (const Grid& grid : cut) {
              for (uint32_t p = 0; p < grid.parts; ++p) {
                for (uint32_t i = 0; i < instances; ++i) {
                  Extent piece = part_extent(grid, count, bytes, p, i, instances);
                  uint64_t at = piece.begin;
                  for (uint64_t t = 0; t < tiling.tiles; ++t) {
                    Extent tile = tile_of(piece, tiling, t);
                    ASSERT_EQ(tile.begin, at);
                    ASSERT_LE(tile.length, tiling.tile_elements);
                    at += tile.length;
                  }
                  ASSERT_EQ(at, piece.begin + piece.length);
                  ASSERT_EQ(tile_of(piece, tiling, tiling.tiles).length, 0u);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Extent, TilingIsTheSameForAnyRankAndCoversTheLongestVBlock) {
  Sizes sizes{0, DType::kF32, {5, 1000, 0, 7}};
  Tiling tiling = make_tiling({{1}}, sizes, 1, 1, 256);
  EXPECT_GE(tiling.tiles * tiling.tile_elements, 1000u);
}

// All-gather of 5 f32 on 3 ranks: parts are of blocks. Cut as one run of 15 elements in 16-byte units it would be
// [0,8) [8,12) [12,15), which are not the blocks.
TEST(Extent, FiveFloatsOnThreeRanks) {
  Contract c;
  c.kind = ContractKind::kAllGather;
  c.ranks = 3;
  Sizes sizes{5, DType::kF32, {}};
  const uint64_t starts[] = {0, 5, 10};
  for (uint32_t b = 0; b < 3; ++b) {
    EXPECT_EQ(block_offset(c, sizes, true, 0, b), starts[b]);
    EXPECT_EQ(block_length(c, sizes, true, 0, b), 5u);
    Extent e = part_extent({1}, 5, 4, 0);
    EXPECT_EQ(e.begin, 0u);
    EXPECT_EQ(e.length, 5u);
  }
  EXPECT_EQ(part_extent({3}, 15, 4, 0).length, 8u);
  EXPECT_EQ(part_extent({3}, 15, 4, 1).length, 4u);
  EXPECT_EQ(part_extent({3}, 15, 4, 2).length, 3u);
}

// 10 elements in 8 chunks: chunk 1 is longer than place 2, so moving it there overruns place 3.
TEST(Extent, TenElementsInEightChunks) {
  EXPECT_EQ(part_extent({8}, 10, 8, 0).length, 2u);
  std::vector<uint64_t> lengths;
  for (uint32_t p = 0; p < 8; ++p) lengths.push_back(part_extent({8}, 10, 4, p).length);
  EXPECT_EQ(lengths, (std::vector<uint64_t>{4, 4, 2, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(fits_for_every_count(1, 2));
  EXPECT_TRUE(fits_for_every_count(2, 1));
  EXPECT_TRUE(fits_for_every_count(2, 2));
}

// Cutting each part by itself would give 9 = 8 + 1 and 8 = 4 + 4: instance 1 of the shorter part would not fit.
TEST(Extent, InstancesAreCutWhereTheLongestPartIs) {
  Grid grid{2};
  uint64_t count = 17;  // f32: parts of 12 and 5
  ASSERT_EQ(part_extent(grid, count, 4, 0).length, 12u);
  ASSERT_EQ(part_extent(grid, count, 4, 1).length, 5u);
  EXPECT_EQ(part_extent(grid, count, 4, 0, 0, 2).length, 8u);
  EXPECT_EQ(part_extent(grid, count, 4, 0, 1, 2).length, 4u);
  EXPECT_EQ(part_extent(grid, count, 4, 1, 0, 2).length, 5u);
  EXPECT_EQ(part_extent(grid, count, 4, 1, 1, 2).length, 0u);
}

TEST(Extent, BlocksOfAllToAllVHaveTheirOwnLengths) {
  Contract c;
  c.kind = ContractKind::kAllToAllV;
  c.ranks = 3;
  Sizes sizes{0, DType::kU8, {1, 2, 3, 40, 50, 60, 700, 800, 900}};
  for (uint32_t i = 0; i < 3; ++i) {
    uint64_t in_at = 0, out_at = 0;
    for (uint32_t j = 0; j < 3; ++j) {
      EXPECT_EQ(block_length(c, sizes, false, i, j), sizes.counts[i * 3 + j]);
      EXPECT_EQ(block_length(c, sizes, false, i, j), block_length(c, sizes, true, j, i));
      EXPECT_EQ(block_offset(c, sizes, false, i, j), in_at);
      EXPECT_EQ(block_offset(c, sizes, true, i, j), out_at);
      in_at += block_length(c, sizes, false, i, j);
      out_at += block_length(c, sizes, true, i, j);
    }
  }
}

}  // namespace
}  // namespace coll
