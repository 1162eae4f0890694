// Contracts: what each built-in collective promises, written out again here by its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/contract.h"

namespace coll {
namespace {

using Kind = Expectation::Kind;

Contract make(ContractKind kind, uint32_t ranks, uint32_t root = 0, uint32_t dst = 0) {
  Contract c;
  c.kind = kind;
  c.name = name(kind);
  c.ranks = ranks;
  c.root = root;
  c.dst = dst;
  return c;
}

constexpr ContractKind kAll[] = {ContractKind::kAllReduce,     ContractKind::kReduce,   ContractKind::kBroadcast,
                                 ContractKind::kAllGather,     ContractKind::kGather,   ContractKind::kScatter,
                                 ContractKind::kReduceScatter, ContractKind::kAllToAll, ContractKind::kAllToAllV,
                                 ContractKind::kSendRecv,      ContractKind::kBarrier};

// The contributions as a plain list.
std::vector<InBlock> contributions(const Contract& c, uint32_t rank, uint32_t block) {
  Expectation e = c.expect(rank, block);
  if (!e.all_ranks) return e.list;
  std::vector<InBlock> list;
  for (uint32_t r = 0; r < c.ranks; ++r) list.push_back({r, e.block});
  return list;
}

void expect_copy(const Contract& c, uint32_t rank, uint32_t block, InBlock from) {
  EXPECT_EQ(c.expect(rank, block).kind, Kind::kCopy);
  EXPECT_EQ(contributions(c, rank, block), std::vector<InBlock>{from}) << "rank " << rank << " block " << block;
}

void expect_sum_of_block(const Contract& c, uint32_t rank, uint32_t block, uint32_t in_block) {
  EXPECT_EQ(c.expect(rank, block).kind, Kind::kReduce);
  std::vector<InBlock> all;
  for (uint32_t r = 0; r < c.ranks; ++r) all.push_back({r, in_block});
  EXPECT_EQ(contributions(c, rank, block), all) << "rank " << rank << " block " << block;
}

TEST(Contract, AllReduce) {
  Contract c = make(ContractKind::kAllReduce, 5);
  for (uint32_t r = 0; r < 5; ++r) {
    EXPECT_EQ(c.in_blocks(r), 1u);
    EXPECT_EQ(c.out_blocks(r), 1u);
    expect_sum_of_block(c, r, 0, 0);
    EXPECT_EQ(c.inplace_shift(r), 0);
  }
  EXPECT_EQ(c.buf_blocks(), 1u);
  EXPECT_TRUE(c.reduces());
  EXPECT_FALSE(c.has_root());
  EXPECT_TRUE(c.offers_inplace());
}

TEST(Contract, Reduce) {
  Contract c = make(ContractKind::kReduce, 4, 2);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(c.in_blocks(r), 1u);
    EXPECT_EQ(c.out_blocks(r), r == 2 ? 1u : 0u);
  }
  expect_sum_of_block(c, 2, 0, 0);
  EXPECT_TRUE(c.has_root());
  EXPECT_TRUE(c.reduces());
}

TEST(Contract, Broadcast) {
  Contract c = make(ContractKind::kBroadcast, 4, 3);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(c.in_blocks(r), r == 3 ? 1u : 0u);
    EXPECT_EQ(c.out_blocks(r), 1u);
    expect_copy(c, r, 0, {3, 0});
  }
  EXPECT_TRUE(c.has_root());
  EXPECT_FALSE(c.reduces());
}

TEST(Contract, AllGather) {
  Contract c = make(ContractKind::kAllGather, 3);
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(c.in_blocks(r), 1u);
    EXPECT_EQ(c.out_blocks(r), 3u);
    for (uint32_t b = 0; b < 3; ++b) expect_copy(c, r, b, {b, 0});
    EXPECT_EQ(c.inplace_shift(r), r);  // in = out + rank * count
    EXPECT_EQ(c.in_offset(r), r);
    EXPECT_EQ(c.out_offset(r), 0u);
  }
  EXPECT_EQ(c.buf_blocks(), 3u);
}

TEST(Contract, ReduceScatter) {
  Contract c = make(ContractKind::kReduceScatter, 3);
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(c.in_blocks(r), 3u);
    EXPECT_EQ(c.out_blocks(r), 1u);
    expect_sum_of_block(c, r, 0, r);
    EXPECT_EQ(c.inplace_shift(r), -static_cast<int64_t>(r));  // out = in + rank * count
    EXPECT_EQ(c.out_offset(r), r);
    EXPECT_EQ(c.in_offset(r), 0u);
  }
  EXPECT_EQ(c.buf_blocks(), 3u);
  EXPECT_TRUE(c.reduces());
}

TEST(Contract, Gather) {
  Contract c = make(ContractKind::kGather, 4, 1);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(c.in_blocks(r), 1u);
    EXPECT_EQ(c.out_blocks(r), r == 1 ? 4u : 0u);
  }
  for (uint32_t b = 0; b < 4; ++b) expect_copy(c, 1, b, {b, 0});
  EXPECT_EQ(c.buf_blocks(), 4u);
  EXPECT_TRUE(c.has_root());
}

TEST(Contract, Scatter) {
  Contract c = make(ContractKind::kScatter, 4, 1);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(c.in_blocks(r), r == 1 ? 4u : 0u);
    EXPECT_EQ(c.out_blocks(r), 1u);
    expect_copy(c, r, 0, {1, r});
  }
  EXPECT_EQ(c.buf_blocks(), 4u);
  EXPECT_TRUE(c.has_root());
}

TEST(Contract, AllToAllAndItsUnevenForm) {
  for (ContractKind kind : {ContractKind::kAllToAll, ContractKind::kAllToAllV}) {
    Contract c = make(kind, 3);
    for (uint32_t r = 0; r < 3; ++r) {
      EXPECT_EQ(c.in_blocks(r), 3u);
      EXPECT_EQ(c.out_blocks(r), 3u);
      for (uint32_t b = 0; b < 3; ++b) expect_copy(c, r, b, {b, r});
    }
  }
  EXPECT_TRUE(make(ContractKind::kAllToAll, 3).offers_inplace());
  EXPECT_FALSE(make(ContractKind::kAllToAllV, 3).offers_inplace());
}

TEST(Contract, SendRecv) {
  Contract c = make(ContractKind::kSendRecv, 4, 3, 1);
  for (uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(c.in_blocks(r), r == 3 ? 1u : 0u);
    EXPECT_EQ(c.out_blocks(r), r == 1 ? 1u : 0u);
  }
  expect_copy(c, 1, 0, {3, 0});
  EXPECT_FALSE(c.has_root());
  EXPECT_FALSE(c.offers_inplace());
}

TEST(Contract, Barrier) {
  Contract c = make(ContractKind::kBarrier, 3);
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(c.expect(r, 0).kind, Kind::kCovered);
    EXPECT_EQ(contributions(c, r, 0).size(), 3u);
  }
}

TEST(Contract, OwnCollective) {
  Contract c = make(ContractKind::kCustom, 2);
  c.custom_in = 2;
  c.custom_out = 3;
  c.ensures = {{0, 1, false, {{1, 0}}}, {1, 0, true, {{0, 1}, {1, 1}}}};
  EXPECT_EQ(c.buf_blocks(), 3u);
  EXPECT_EQ(c.expect(0, 0).kind, Kind::kAny);
  expect_copy(c, 0, 1, {1, 0});
  EXPECT_EQ(c.expect(1, 0).kind, Kind::kReduce);
  EXPECT_EQ(contributions(c, 1, 0), (std::vector<InBlock>{{0, 1}, {1, 1}}));
  EXPECT_EQ(c.expect(1, 2).kind, Kind::kAny);
  EXPECT_TRUE(c.reduces());
  EXPECT_FALSE(c.offers_inplace());
  c.ensures.pop_back();
  EXPECT_FALSE(c.reduces());
}

TEST(Contract, NamesReadBack) {
  std::set<std::string> names;
  for (ContractKind kind : kAll) {
    EXPECT_EQ(parse_contract_kind(name(kind)), kind);
    names.insert(name(kind));
  }
  std::vector<std::string> listed = contract_names();
  EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), names);
  EXPECT_FALSE(parse_contract_kind("custom"));
  EXPECT_FALSE(parse_contract_kind("Allreduce"));
}

// For every kind, number of ranks and root: promises speak of blocks that exist, each contribution once, and where a
// call in place is offered, views of `buf` and aliasing agree.
TEST(Contract, PromisesAreOfBlocksThatExist) {
  for (ContractKind kind : kAll) {
    for (uint32_t ranks = 1; ranks <= 6; ++ranks) {
      for (uint32_t root = 0; root < ranks; ++root) {
        Contract c = make(kind, ranks, root, ranks - 1);
        SCOPED_TRACE(testing::Message() << c.name << " ranks " << ranks << " root " << root);
        uint32_t longest = 0;
        for (uint32_t r = 0; r < ranks; ++r) {
          longest = std::max({longest, c.in_blocks(r), c.out_blocks(r)});
          EXPECT_LE(c.in_offset(r) + c.in_blocks(r), c.buf_blocks() + (c.in_blocks(r) == 0 ? c.in_offset(r) : 0));
          EXPECT_LE(c.out_offset(r) + c.out_blocks(r), c.buf_blocks() + (c.out_blocks(r) == 0 ? c.out_offset(r) : 0));
          EXPECT_EQ(c.inplace_shift(r), int64_t{c.in_offset(r)} - int64_t{c.out_offset(r)});
          for (uint32_t b = 0; b < c.out_blocks(r); ++b) {
            EXPECT_NE(c.expect(r, b).kind, Kind::kAny);
            std::vector<InBlock> from = contributions(c, r, b);
            EXPECT_FALSE(from.empty());
            EXPECT_TRUE(std::is_sorted(from.begin(), from.end()));
            EXPECT_EQ(std::adjacent_find(from.begin(), from.end()), from.end());
            for (InBlock i : from) {
              ASSERT_LT(i.rank, ranks);
              EXPECT_LT(i.block, c.in_blocks(i.rank));
            }
          }
        }
        EXPECT_EQ(c.buf_blocks(), longest);
      }
    }
  }
}

}  // namespace
}  // namespace coll
