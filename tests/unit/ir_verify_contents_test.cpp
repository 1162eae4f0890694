// The verifier on what places hold: contributions, expressions, extents, and calls in place.
#include <gtest/gtest.h>

#include "ir/verify.h"
#include "tests/unit/plan_builder.h"
#include "tests/unit/verify_expect.h"

namespace coll {
namespace {

using namespace coll::testing;
using Kind = ContractKind;

// ---- contents

TEST(VerifyContents, UnwrittenReads) {
  PlanBuilder b(Kind::kAllReduce, 1);
  b.scratch_places(1);
  b.add(0, 0, Opcode::kCopy, {scratch(0)}, {out(0)});
  expect_refused(b.build(), Fault::kUnwritten);
  VerifyResult result = check(b.build());
  EXPECT_EQ(result.story.line, "hand.coll:1");
  EXPECT_TRUE(mentions(result, "reads scratch[0] of rank 0 (a tmp or an intermediate), which nobody wrote"));
}

TEST(VerifyContents, WrongMissingAndDuplicated) {
  Plan plan = all_pairs(3);
  auto reduce_of = [&](uint32_t rank) {
    uint32_t i = plan.lanes[plan.rank_lanes[rank]].first + 2;
    EXPECT_EQ(plan.instructions[i].op, Opcode::kReduce);
    return i;
  };
  uint32_t i = reduce_of(1);
  {
    Plan copy = plan;  // counts rank 0 twice, lacks rank 2
    copy.operands[copy.instructions[i].first_operand + 2] = scratch(0);
    expect_refused(copy, Fault::kDuplicated);
    VerifyResult result = check(copy);
    EXPECT_TRUE(
        mentions(result,
                 "rank 0 out[1] must hold in[1] of every rank once and holds in[1] of rank 0 (twice), and lacks "
                 "in[1] of rank 2"))
        << render(result);
    EXPECT_TRUE(mentions(result, "adds in[1] of rank 0 to in[1] of ranks 0 and 1"));
  }
  {
    Plan copy = plan;  // a sum of the first two only
    copy.instructions[i].source_count = 2;
    copy.operands[copy.instructions[i].first_operand + 2] = out(1);
    expect_refused(copy, Fault::kMissing);
  }
}

TEST(VerifyContents, WrongBlocks) {
  PlanBuilder b(Kind::kAllToAll, 2);
  uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
  for (uint32_t r : {0u, 1u}) {
    b.add(r, 0, Opcode::kCopy, {in(r)}, {out(r)});
    b.add(r, 0, Opcode::kSend, {in(r)}, {message(to[r])});  // its own block, not the other rank's
  }
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecv, {message(to[1 - r])}, {out(1 - r)});
  expect_refused(b.build(), Fault::kWrong);
  VerifyResult result = check(b.build());
  EXPECT_TRUE(mentions(result, "rank 0 out[1] must hold in[0] of rank 1 and holds in[1] of rank 1 instead"))
      << render(result);
  EXPECT_TRUE(mentions(result, "last written by rank 0 lane 0 step 2"));
}

TEST(VerifyContents, NobodyWritesAChunk) {
  PlanBuilder b(Kind::kAllGather, 2);
  uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kSend, {in(0)}, {message(to[r])});
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecv, {message(to[1 - r])}, {out(1 - r)});
  expect_refused(b.build(), Fault::kMissing);
  VerifyResult result = check(b.build());
  EXPECT_TRUE(mentions(result, "no instruction of `by_hand` writes rank 0 out[0], which must hold in[0] of rank 0"));
  EXPECT_TRUE(mentions(result, "allgather: block b of every rank's out is rank b's in")) << render(result);
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kCopy, {in(0)}, {out(r)});
  expect_proved(b.build());
}

// XOR of hashes would call a contribution counted three times right: x ^ x ^ x = x.
TEST(VerifyContents, CountedThreeTimes) {
  PlanBuilder b(Kind::kAllReduce, 2);
  uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kSend, {in(0)}, {message(to[r])});
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecvReduce, {in(0), in(0), in(0), message(to[1 - r])}, {out(0)});
  expect_refused(b.build(), Fault::kDuplicated);
  EXPECT_TRUE(mentions(check(b.build()), "in[0] of rank 0 (3 times)"));
}

TEST(VerifyContents, LongStoriesAreCutShort) {
  PlanBuilder b(make_contract(Kind::kReduce, 20), 1);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
  VerifyResult result = check(b.build());
  EXPECT_EQ(result.story.fault, Fault::kMissing);
  EXPECT_TRUE(mentions(result, "must hold in[0] of every rank and lacks in[0] of ranks 1 to 19")) << render(result);
  for (uint32_t r = 2; r < 20; r += 2) {
    uint32_t c = b.connection(r, 0);
    b.add(r, 0, Opcode::kSend, {in(0)}, {message(c)});
    b.add(0, 0, Opcode::kRecvReduce, {out(0), message(c)}, {out(0)});
  }
  result = check(b.build());
  EXPECT_TRUE(mentions(result, "lacks in[0] of ranks 1, 3, 5, 7 and 6 more")) << render(result);
}

// The published faulty ring writes the accumulator at the loop index in place of the block index, so that what it
// forwards in the next step is an unreduced block.
TEST(VerifyContents, FaultyRingIsRefusedWithItsFirstWrongChunk) {
  constexpr uint32_t n = 4;
  auto build = [](bool faulty) {
    Contract contract = make_contract(Kind::kCustom, n);
    contract.custom_in = contract.custom_out = n;
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t b = 0; b < n; ++b) contract.ensures.push_back({r, b, true, {{0, b}, {1, b}, {2, b}, {3, b}}});
    PlanBuilder b(contract);
    std::vector<uint32_t> to;
    for (uint32_t r = 0; r < n; ++r) to.push_back(b.connection(r, (r + 1) % n));
    for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kCopy, {in(0)}, {out(0)}).length(n);
    for (uint32_t s = 0; s < n - 1; ++s) {
      for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kSend, {out((r + n - s) % n)}, {message(to[r])});
      for (uint32_t r = 0; r < n; ++r) {
        uint32_t block = (r + 2 * n - s - 1) % n;
        b.add(r, 0, Opcode::kRecvReduce, {out(block), message(to[(r + n - 1) % n])}, {out(faulty ? s : block)});
      }
    }
    for (uint32_t s = 0; s < n - 1; ++s) {
      for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kSend, {out((r + 1 + n - s) % n)}, {message(to[r])});
      for (uint32_t r = 0; r < n; ++r)
        b.add(r, 0, Opcode::kRecv, {message(to[(r + n - 1) % n])}, {out((r + n - s) % n)});
    }
    return b.build();
  };
  EXPECT_TRUE(expect_proved(build(false)).bits_equal);
  expect_refused(build(true), Fault::kWrong);
  VerifyResult result = check(build(true));
  EXPECT_TRUE(mentions(result, "rank 0 out[0] must hold in[0] of every rank and holds in[2] of ranks 2 and 3"))
      << render(result);
}

TEST(VerifyContents, OneShotHasOtherBitsOnEachRank) {
  auto build = [](uint32_t n, bool own_first) {
    PlanBuilder b(Kind::kAllReduce, n);
    b.scratch_places(n);
    std::vector<std::vector<uint32_t>> to(n, std::vector<uint32_t>(n));
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t q = 0; q < n; ++q)
        if (q != r) b.add(r, 0, Opcode::kSend, {in(0)}, {message(to[r][q] = b.connection(r, q))});
    for (uint32_t r = 0; r < n; ++r) {
      std::vector<Operand> all;
      if (own_first) all.push_back(in(0));
      for (uint32_t q = 0; q < n; ++q) {
        if (q != r) b.add(r, 0, Opcode::kRecv, {message(to[q][r])}, {scratch(q)});
        if (q != r) all.push_back(scratch(q));
        if (q == r && !own_first) all.push_back(in(0));
      }
      b.add(r, 0, Opcode::kReduce, all, {out(0)});
    }
    return b.build();
  };
  EXPECT_TRUE(expect_proved(build(2, true)).bits_equal);
  VerifyResult result = expect_proved(build(8, true));
  EXPECT_FALSE(result.bits_equal);
  EXPECT_EQ(result.bits_note, "out[0] of rank 0 and out[0] of rank 2 are reduced in different orders");
  EXPECT_TRUE(mentions(result, "bits may differ"));
  EXPECT_TRUE(expect_proved(build(8, false)).bits_equal);
}

TEST(VerifyContents, BarrierNeedsEveryToken) {
  auto build = [](uint32_t n, bool whole) {
    PlanBuilder b(Kind::kBarrier, n);
    for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kCopy, {in(0)}, {out(0)});
    for (uint32_t distance = 1; distance < (whole ? n : n / 2); distance *= 2) {
      std::vector<uint32_t> to;
      for (uint32_t r = 0; r < n; ++r) to.push_back(b.connection(r, (r + distance) % n, distance));
      for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kSend, {out(0)}, {message(to[r])});
      for (uint32_t r = 0; r < n; ++r)
        b.add(r, 0, Opcode::kRecvReduce, {out(0), message(to[(r + n - distance) % n])}, {out(0)});
    }
    return b.build();
  };
  for (uint32_t n : {2u, 5u, 6u, 100u}) {
    expect_proved(build(n, true));
    expect_refused(build(n, false), Fault::kMissing);
  }
}

// ---- extents

TEST(VerifyContents, PartMovedIntoAPlaceThatMayBeShorter) {
  auto build = [](uint32_t from, uint32_t to) {
    Contract contract = make_contract(Kind::kCustom, 1);
    contract.custom_in = contract.custom_out = 1;
    PlanBuilder b(contract, 8);
    b.add(0, 0, Opcode::kCopy, {in(from)}, {out(to)});
    return b.build();
  };
  expect_refused(build(1, 2), Fault::kDoesNotFit);  // 10 elements in 8 parts: 2 2 1 1 1 1 1 1
  expect_proved(build(2, 1));
  EXPECT_TRUE(mentions(check(build(1, 2)), "moves part 1 of 8, and out[2] of rank 0 is place 2"));
}

TEST(VerifyContents, LongestExtentOnlyThroughScratch) {
  PlanBuilder b(Kind::kAllReduce, 1, 2);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}).length(2).part(kLongestPart);
  expect_refused(b.build(), Fault::kDoesNotFit);
}

TEST(VerifyContents, DataCutOffOnTheWay) {
  // Part 0 lies in scratch and is moved as if it were part 1, which is shorter for some counts.
  auto build = [](uint32_t part) {
    PlanBuilder b(Kind::kAllReduce, 1, 2);
    b.scratch_places(2);
    b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
    b.add(0, 0, Opcode::kCopy, {scratch(0)}, {scratch(1)}).part(part);
    b.add(0, 0, Opcode::kCopy, {scratch(1)}, {out(0)});
    b.add(0, 0, Opcode::kCopy, {in(1)}, {out(1)});
    return b.build();
  };
  expect_proved(build(0));
  expect_proved(build(kLongestPart));
  expect_refused(build(1), Fault::kDoesNotFit);
}

TEST(VerifyContents, GridsDoNotMix) {
  auto build = [](uint16_t grid) {
    PlanBuilder b(Kind::kAllReduce, 1);
    b.header().grids = {{1, 0, 1, 3}, {1, 1, 3, 3}};
    b.scratch_places(1);
    b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
    b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)}).grid(grid);
    b.add(0, 0, Opcode::kCopy, {scratch(0)}, {out(0)}).grid(1);
    return b.build();
  };
  expect_proved(build(1));
  expect_refused(build(0), Fault::kWrong);

  // Nothing promised there: the contents are right, the lengths are not.
  Plan open = build(0);
  open.contract = make_contract(Kind::kCustom, 1);
  open.contract.custom_in = open.contract.custom_out = 1;
  expect_refused(open, Fault::kDoesNotFit);
  EXPECT_TRUE(mentions(check(open), "as data of grid 1, and it is of grid 0")) << render(check(open));
}

// A chunk summed with another is also cut off where it is stored; what counts is that it is summed.
TEST(VerifyContents, MixedPartsAreWrongBeforeTheyDoNotFit) {
  auto build = [](uint32_t added) {
    PlanBuilder b(Kind::kAllReduce, 1, 2);
    b.scratch_places(2);
    b.add(0, 0, Opcode::kCopy, {in(1)}, {scratch(0)});
    b.add(0, 0, Opcode::kCopy, {in(added)}, {scratch(1)});
    b.add(0, 0, Opcode::kReduce, {scratch(0), scratch(1)}, {scratch(0)});
    b.add(0, 0, Opcode::kCopy, {scratch(0)}, {out(1)});
    b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
    return b.build();
  };
  expect_refused(build(1), Fault::kDuplicated);
  expect_refused(build(0), Fault::kWrong);
  VerifyResult result = check(build(0));
  EXPECT_EQ(result.story.line, "hand.coll:3");
  EXPECT_TRUE(mentions(result, "rank 0 out[1] must hold in[1] of rank 0 and holds in[0] of rank 0 too"))
      << render(result);
  EXPECT_TRUE(mentions(result, "which adds in[0] of rank 0 to in[1] of rank 0")) << render(result);
  EXPECT_FALSE(mentions(result, "grid")) << render(result);
}

// Only what two ranks must hold can be equal on all ranks.
TEST(VerifyContents, BitsAreComparedWhereTwoRanksShareThem) {
  auto exchange = [](Kind kind, bool scatters) {
    PlanBuilder b(kind, 2);
    uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
    for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kSend, {in(scatters ? 1 - r : 0)}, {message(to[r])});
    for (uint32_t r : {0u, 1u}) {
      if (kind == Kind::kAllReduce || kind == Kind::kReduceScatter || kind == Kind::kBarrier) {
        b.add(r, 0, Opcode::kRecvReduce, {in(scatters ? r : 0), message(to[1 - r])}, {out(0)});
      } else {
        b.add(r, 0, Opcode::kCopy, {in(scatters ? r : 0)}, {out(r)});
        b.add(r, 0, Opcode::kRecv, {message(to[1 - r])}, {out(1 - r)});
      }
    }
    return b.build();
  };
  for (Plan plan : {exchange(Kind::kAllReduce, false), exchange(Kind::kAllGather, false)}) {
    VerifyResult result = expect_proved(plan);
    EXPECT_TRUE(result.bits_shared && result.bits_equal);
    EXPECT_TRUE(mentions(result, "bits equal on all ranks"));
  }
  for (Plan plan :
       {exchange(Kind::kReduceScatter, true), exchange(Kind::kAllToAll, true), exchange(Kind::kBarrier, false)}) {
    VerifyResult result = expect_proved(plan);
    EXPECT_FALSE(result.bits_shared);
    EXPECT_FALSE(mentions(result, "bits"));
  }
  // A user's own: the same promise to two ranks, and one to each.
  for (uint32_t second : {0u, 1u}) {
    Contract own = make_contract(Kind::kCustom, 2);
    own.custom_in = 2;
    own.custom_out = 1;
    own.ensures = {{0, 0, true, {{0, 0}, {0, 1}}}, {1, 0, true, {{second, 0}, {second, 1}}}};
    PlanBuilder b(own);
    b.add(0, 0, Opcode::kReduce, {in(0), in(1)}, {out(0)});
    if (second == 1) {
      b.add(1, 0, Opcode::kReduce, {in(0), in(1)}, {out(0)});
    } else {
      uint32_t c = b.connection(0, 1);
      b.add(0, 0, Opcode::kSend, {out(0)}, {message(c)});
      b.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
    }
    EXPECT_EQ(expect_proved(b.build()).bits_shared, second == 0);
  }
}

TEST(VerifyContents, AllToAllVHasALengthForEachPair) {
  auto build = [](bool relayed_in_out) {
    PlanBuilder b(Kind::kAllToAllV, 2);
    b.scratch_places(1);
    uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
    for (uint32_t r : {0u, 1u}) {
      b.add(r, 0, Opcode::kCopy, {in(r)}, {out(r)});
      if (relayed_in_out) {
        b.add(r, 0, Opcode::kCopy, {in(1 - r)}, {scratch(0)});
        b.add(r, 0, Opcode::kCopy, {scratch(0)}, {out(1 - r)});
        b.add(r, 0, Opcode::kCopy, {out(1 - r)}, {scratch(0)});
      }
      b.add(r, 0, Opcode::kSend, {in(1 - r)}, {message(to[r])});
    }
    for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecv, {message(to[1 - r])}, {out(1 - r)});
    return b.build();
  };
  expect_proved(build(false));
  expect_refused(build(true), Fault::kDoesNotFit);  // block (r, 1-r) through the place of block (1-r, r)

  PlanBuilder b(Kind::kAllToAllV, 2);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(1)});
  expect_refused(b.build(), Fault::kDoesNotFit);
}

// ---- in place

TEST(VerifyContents, InPlaceReadOfAnOverwrittenInput) {
  auto build = [](bool inplace) {
    PlanBuilder b(Kind::kAllReduce, 2);
    b.header().inplace = inplace;
    uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
    // Writes `out` first and sends its `in` only then.
    b.add(0, 0, Opcode::kSend, {in(0)}, {message(to[0])});
    b.add(1, 0, Opcode::kRecvReduce, {in(0), message(to[0])}, {out(0)});
    b.add(1, 0, Opcode::kSend, {in(0)}, {message(to[1])});
    b.add(0, 0, Opcode::kRecvReduce, {in(0), message(to[1])}, {out(0)});
    return b.build();
  };
  expect_proved(build(false));
  expect_refused(build(true), Fault::kInPlace);
}

// All-gather in place: in is block r of out. Copying it onto itself disturbs nobody; another write there does.
TEST(VerifyContents, InPlaceAllGather) {
  auto build = [](uint32_t copy_lane, bool other_write) {
    PlanBuilder b(Kind::kAllGather, 2);
    b.header().inplace = true;
    b.scratch_places(1);
    uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
    for (uint32_t r : {0u, 1u}) {
      if (other_write) {
        b.add(r, 1, Opcode::kCopy, {in(0)}, {scratch(0)});
        b.add(r, 1, Opcode::kCopy, {scratch(0)}, {out(r)});
      } else {
        b.add(r, copy_lane, Opcode::kCopy, {in(0)}, {out(r)});
      }
      b.add(r, 0, Opcode::kSend, {in(0)}, {message(to[r])});
    }
    for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecv, {message(to[1 - r])}, {out(1 - r)});
    return b.build();
  };
  expect_proved(build(0, false));
  expect_proved(build(1, false));
  Plan racing = build(1, true);
  expect_refused(racing, Fault::kRace);
  racing.inplace = false;
  expect_proved(racing);
}

// Under premul `in` is scaled where it is read. In place a copy of it onto itself leaves it scaled, so a later read
// must take the copy.
TEST(VerifyContents, InPlaceReadAfterItsOwnCopyWouldScaleTwice) {
  auto build = [](bool inplace, bool reads_copy, bool other_lane) {
    PlanBuilder b(make_contract(Kind::kReduce, 2, 1));
    b.header().inplace = inplace;
    uint32_t c = b.connection(0, 1);
    b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
    b.add(1, 0, Opcode::kCopy, {in(0)}, {out(0)});
    b.add(1, other_lane ? 1 : 0, Opcode::kRecvReduce, {reads_copy ? out(0) : in(0), message(c)}, {out(0)});
    return b.build();
  };
  expect_proved(build(false, false, false));
  expect_proved(build(true, true, false));
  expect_refused(build(true, false, false), Fault::kInPlace);
  EXPECT_TRUE(mentions(check(build(true, false, false)), "premul would scale it twice"));
  expect_refused(build(true, false, true), Fault::kRace);
}

TEST(VerifyContents, InPlaceOnlyWhereItIsOffered) {
  PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
  uint32_t c = b.connection(0, 1);
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
  b.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
  expect_proved(b.build());
  b.header().inplace = true;
  expect_refused(b.build(), Fault::kInPlace);
}

TEST(VerifyContents, InPlaceShiftWithinOneInstruction) {
  PlanBuilder b(Kind::kAllToAll, 2);
  b.header().inplace = true;
  b.scratch_places(2);
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kReduce, {in(0), in(0)}, {scratch(0)}).length(2);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}).length(2);
  VerifyResult result = check(b.build());
  EXPECT_EQ(result.story.fault, Fault::kWrong) << render(result);  // not the overlap: same places
}

}  // namespace
}  // namespace coll
