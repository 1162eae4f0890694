// The verifier on staged plans: each fault is earned by a small plan, and the counter-examples that a plan without
// direct accesses can express have their right verdicts.
#include <gtest/gtest.h>

#include "ir/verify.h"
#include "ir/verify_witness.h"
#include "tests/unit/plan_builder.h"
#include "tests/unit/verify_expect.h"

namespace coll {
namespace {

using namespace coll::testing;
using Kind = ContractKind;

// Two ranks swap their inputs over one connection each way and add.
struct Exchange {
  PlanBuilder b{Kind::kAllReduce, 2};
  uint32_t forth = b.connection(0, 1), back = b.connection(1, 0);
  Exchange() {
    b.add(0, 0, Opcode::kSend, {in(0)}, {message(forth)});
    b.add(1, 0, Opcode::kSend, {in(0)}, {message(back)});
    b.add(0, 0, Opcode::kRecvReduce, {in(0), message(back)}, {out(0)});
    b.add(1, 0, Opcode::kRecvReduce, {in(0), message(forth)}, {out(0)});
  }
};

TEST(Verify, ProvesAnExchange) {
  Exchange e;
  VerifyResult result = expect_proved(e.b.build());
  EXPECT_EQ(result.least_slots, 1u);
  EXPECT_TRUE(result.bits_equal) << "a + b and b + a are the same bits";
  EXPECT_EQ(result.instructions, 4u);
  EXPECT_EQ(
      render(result),
      "proved: 4 instructions, contents exact, bits equal on all ranks, runs with 1 slot per connection or more\n");
}

TEST(Verify, ProvesRingsAndAllPairs) {
  for (uint32_t n : {2u, 3u, 4u, 7u, 16u}) {
    VerifyResult ring = expect_proved(fused_ring(n));
    EXPECT_EQ(ring.least_slots, 2u);
    EXPECT_TRUE(ring.bits_equal);
  }
  for (uint32_t n : {2u, 3u, 5u, 9u}) {
    VerifyResult pairs = expect_proved(all_pairs(n));
    EXPECT_EQ(pairs.least_slots, 1u);
    EXPECT_TRUE(pairs.bits_equal) << "one rank reduces each part, all others receive it";
  }
}

TEST(Verify, LargeWorldsUseFingerprintsAndSaySo) {
  VerifyResult result = check(fused_ring(80));
  EXPECT_TRUE(result.ok()) << render(result);
  EXPECT_FALSE(result.exact);
  EXPECT_TRUE(mentions(result, "128-bit fingerprints"));
  EXPECT_TRUE(check(fused_ring(8)).exact);
}

// ---- malformed

TEST(Verify, MalformedIds) {
  Plan plan = Exchange().b.build();
  auto broken = [&](auto change) {
    Plan copy = plan;
    change(copy);
    expect_refused(copy, Fault::kMalformed);
  };
  broken([](Plan& p) { p.operands[0].place = 1; });                          // outside `in`
  broken([](Plan& p) { p.operands[0].buffer = 7; });                         // no such buffer
  broken([](Plan& p) { p.operands[1].rank = 9; });                           // no such connection
  broken([](Plan& p) { p.operands[1].rank = 1; });                           // does not begin here
  broken([](Plan& p) { p.instructions[0].grid = 3; });                       // no such grid
  broken([](Plan& p) { p.instructions[0].length = 0; });                     // moves nothing
  broken([](Plan& p) { p.instructions[0].length = 2; });                     // past the end
  broken([](Plan& p) { p.instructions[0].first_part = 1; });                 // no such part
  broken([](Plan& p) { p.instructions[0].first_operand = 1000; });           // no such operands
  broken([](Plan& p) { p.instructions[0].op = Opcode::kRecv; });             // other operands
  broken([](Plan& p) { p.instructions[0].op = static_cast<Opcode>(200); });  // no such opcode
  broken([](Plan& p) { p.lanes[1].first = 1; });
  broken([](Plan& p) { p.lanes[1].count = 1; });
  broken([](Plan& p) { p.scratch_places.pop_back(); });
  broken([](Plan& p) { p.connections[0].source = 2; });
  broken([](Plan& p) { p.grids.clear(); });
  broken([](Plan& p) { p.grids[0].denominator = 0; });
  broken([](Plan& p) { p.contract.root = 2; });
  broken([](Plan& p) {
    p.instructions[0].after_count = 1;
    p.after = {{0, 2}};
  });  // a step that the lane does not have
  broken([](Plan& p) {
    p.instructions[0].after_count = 1;
    p.after = {{1, 0}};
  });
}

TEST(Verify, WitnessMustBeAnOrder) {
  Plan plan = Exchange().b.build();
  std::swap(plan.instructions[0].order, plan.instructions[1].order);  // receives before it sends
  expect_refused(plan, Fault::kMalformed);
  ASSERT_TRUE(assign_witness(plan, 1));
  expect_proved(plan);
  plan.instructions[0].order = plan.instructions[1].order;
  expect_refused(plan, Fault::kMalformed);
}

TEST(Verify, GridsMustCoverTheBlockOnce) {
  Plan plan = Exchange().b.build();
  plan.grids[0].hi = 1;
  plan.grids[0].denominator = 2;
  expect_refused(plan, Fault::kMissing);
  plan.grids.push_back({1, 1, 4, 4});
  expect_refused(plan, Fault::kMalformed);
  plan.grids[1] = {1, 2, 4, 4};  // the other half, but nobody moves it
  expect_refused(plan, Fault::kMissing);
}

TEST(Verify, OneRanksPartIsNotJudgedAlone) {
  Plan plan = Exchange().b.build();
  plan.only_rank = 1;
  expect_not_judged(plan, Fault::kMalformed);
}

TEST(Verify, WritesIn) {
  PlanBuilder b(Kind::kAllReduce, 1);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
  b.add(0, 0, Opcode::kCopy, {out(0)}, {in(0)});
  expect_refused(b.build(), Fault::kWritesIn);
}

// ---- one lane at each end

TEST(Verify, SharedConnectionCannotBeJudged) {
  PlanBuilder b(Kind::kSendRecv, 2);
  b.header().contract.dst = 1;
  b.scratch_places(1);
  uint32_t c = b.connection(0, 1);
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
  b.add(0, 1, Opcode::kSend, {in(0)}, {message(c)});
  b.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
  b.add(1, 0, Opcode::kRecv, {message(c)}, {scratch(0)});
  expect_not_judged(b.build(), Fault::kConnectionShared);

  PlanBuilder d(Kind::kSendRecv, 2);
  d.header().contract.dst = 1;
  d.scratch_places(1);
  c = d.connection(0, 1);
  d.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
  d.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
  d.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
  d.add(1, 1, Opcode::kRecv, {message(c)}, {scratch(0)});
  expect_not_judged(d.build(), Fault::kConnectionShared);
}

// Semaphore s = 1; lane A: acquire s, release s, release v; lane B: acquire s, acquire v, release s. One order ends,
// the other deadlocks, neither has a race: not to be accepted from one lucky run.
TEST(Verify, SemaphoreWithTwoAcquirersCannotBeJudged) {
  PlanBuilder b(Kind::kAllReduce, 1);
  uint32_t s = b.counter(0, 0), v = b.counter(0, 0);
  b.add(0, 2, Opcode::kCopy, {in(0)}, {out(0)});
  b.signal(0, 2, s);  // s = 1
  b.wait(0, 0, s);    // A
  b.signal(0, 0, s);
  b.signal(0, 0, v);
  b.wait(0, 1, s);  // B
  b.wait(0, 1, v);
  b.signal(0, 1, s);
  expect_not_judged(b.build(), Fault::kCounterShared);
}

TEST(Verify, CounterWithTwoSignallersCannotBeJudged) {
  PlanBuilder b(Kind::kAllReduce, 1);
  uint32_t v = b.counter(0, 0);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
  b.signal(0, 0, v);
  b.signal(0, 1, v);
  b.wait(0, 2, v, 2);
  expect_not_judged(b.build(), Fault::kCounterShared);
}

TEST(Verify, UnbalancedMessagesAndSignals) {
  {
    Exchange e;
    e.b.add(0, 0, Opcode::kSend, {in(0)}, {message(e.forth)});
    expect_refused(e.b.build(), Fault::kUnbalanced);
  }
  {
    Exchange e;
    e.b.signal(0, 0, e.b.counter(1, 0));
    expect_refused(e.b.build(), Fault::kUnbalanced);
  }
  {
    Exchange e;
    uint32_t c = e.b.counter(1, 0);
    e.b.signal(0, 0, c);
    e.b.wait(1, 0, c, 2);
    expect_refused(e.b.build(), Fault::kUnbalanced);
  }
}

TEST(Verify, MessageMismatch) {
  auto build = [](uint32_t sent_part, uint32_t received_part) {
    PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1), 2);
    b.scratch_places(1);
    uint32_t c = b.connection(0, 1);
    for (uint32_t p : {0u, 1u}) {
      b.add(0, 0, Opcode::kSend, {in(p)}, {message(c)});
      b.add(1, 0, Opcode::kRecv, {message(c)}, {out(p)});
    }
    b.add(0, 0, Opcode::kSend, {in(sent_part)}, {message(c)});
    b.add(1, 0, Opcode::kRecv, {message(c)}, {scratch(0)}).part(received_part);
    return b.build();
  };
  expect_proved(build(1, 1));
  expect_refused(build(1, 0), Fault::kMessageMismatch);
  expect_refused(build(1, kLongestPart), Fault::kMessageMismatch);
  expect_proved(build(0, kLongestPart));  // part 0 is the longest

  PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1), 2);
  uint32_t c = b.connection(0, 1);
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)}).length(2);
  b.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
  expect_refused(b.build(), Fault::kMessageMismatch);
}

// ---- deadlock

TEST(Verify, DeadlockOfTwoReceivesFirst) {
  PlanBuilder b(Kind::kAllReduce, 2);
  uint32_t forth = b.connection(0, 1), back = b.connection(1, 0);
  b.add(0, 0, Opcode::kRecvReduce, {in(0), message(back)}, {out(0)});
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(forth)});
  b.add(1, 0, Opcode::kRecvReduce, {in(0), message(forth)}, {out(0)});
  b.add(1, 0, Opcode::kSend, {in(0)}, {message(back)});
  Plan plan = b.build();
  expect_refused(plan, Fault::kDeadlock);
  VerifyResult result = check(plan);
  ASSERT_EQ(result.story.lines.size(), 3u) << render(result);
  EXPECT_EQ(
      result.story.lines[0],
      "rank 0 lane 0 step 0 (`rr`, hand.coll:1) waits for message 1 from rank 1 lane 0 on channel 0, not sent yet");
  EXPECT_TRUE(mentions(result, "any number of slots"));
  EXPECT_EQ(result.story.rank, 0u);
  EXPECT_EQ(result.story.step, 0u);
  EXPECT_EQ(result.story.line, "hand.coll:1");
  EXPECT_FALSE(assign_witness(plan));
}

TEST(Verify, DeadlockOfAfters) {
  PlanBuilder b(Kind::kAllReduce, 1);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}).after(1, 0);
  b.add(0, 1, Opcode::kCopy, {in(0)}, {out(0)}).after(0, 0);
  expect_refused(b.build(), Fault::kDeadlock);
  PlanBuilder self(Kind::kAllReduce, 1);
  self.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}).after(0, 0);
  expect_refused(self.build(), Fault::kDeadlock);
}

TEST(Verify, DeadlockStoryIsTheShortestCycle) {
  // Ranks 0, 1, 2 wait in a circle of three; ranks 2 and 3 for each other.
  PlanBuilder b(Kind::kBarrier, 4);
  b.scratch_places(4);
  std::pair<uint32_t, uint32_t> waits[] = {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 2}};
  std::vector<uint32_t> connections;
  for (auto [from, to] : waits) connections.push_back(b.connection(to, from));
  for (size_t w = 0; w < 5; ++w)
    b.add(waits[w].first, w == 3 ? 1 : 0, Opcode::kRecv, {message(connections[w])}, {scratch(0)});
  for (size_t w = 0; w < 5; ++w) {
    auto send = b.add(waits[w].second, w == 4 ? 1 : 0, Opcode::kSend, {in(0)}, {message(connections[w])});
    (void)send;
  }
  VerifyResult result = check(b.build());
  EXPECT_EQ(result.story.fault, Fault::kDeadlock);
  EXPECT_EQ(result.story.lines.size(), 3u) << render(result);
  EXPECT_EQ(result.story.rank, 2u);
  EXPECT_EQ(result.story.lane, 1u);
}

// The same pair exchange with more messages before the first receive: each needs as many slots. An instruction that
// looped over its own slices would deadlock like this; with tiles outermost one message per tile and instruction does.
TEST(Verify, ExchangeOfSlicesNeedsSlots) {
  for (uint32_t slices : {1u, 2u, 4u, 16u}) {
    PlanBuilder b(Kind::kAllReduce, 2, slices);
    uint32_t to[] = {b.connection(0, 1), b.connection(1, 0)};
    for (uint32_t p = 0; p < slices; ++p)
      for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kSend, {in(p)}, {message(to[r])});
    for (uint32_t p = 0; p < slices; ++p)
      for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kRecvReduce, {in(p), message(to[1 - r])}, {out(p)});
    Plan plan = b.build();
    EXPECT_EQ(expect_proved(plan, 16).least_slots, slices);
    if (slices > 1) expect_refused(plan, Fault::kDeadlock, slices / 2);
    if (slices > 1) expect_refused(plan, Fault::kDeadlock, slices - 1);
  }
}

TEST(Verify, FusedRingNeedsTwoSlots) {
  for (uint32_t n : {3u, 5u, 20u}) {
    Plan plan = fused_ring(n);
    VerifyResult result = check(plan, 1);
    EXPECT_EQ(result.story.fault, Fault::kDeadlock);
    EXPECT_EQ(result.least_slots, 2u);
    EXPECT_TRUE(mentions(result, "waits for a free slot")) << render(result);
    EXPECT_TRUE(mentions(result, "it runs with 2 or more"));
    EXPECT_LE(result.story.lines.size(), 13u);
    EXPECT_TRUE(check(plan, 2).ok());
  }
}

// a sends n messages to r, r one to c, c one to b, and r the n to b, which takes c's first. Receives and sends of r
// fused, the n messages must all fit into r's connection to b.
Plan relay(uint32_t n, bool fused) {
  Contract contract = make_contract(Kind::kCustom, 4);
  contract.name = "relay";
  contract.custom_in = contract.custom_out = n + 1;
  for (uint32_t p = 0; p < n; ++p) contract.ensures.push_back({3, p, false, {{0, p}}});
  contract.ensures.push_back({3, n, false, {{1, n}}});
  PlanBuilder b(contract);
  b.scratch_places(n);
  enum : uint32_t { a, r, c, last };
  uint32_t ar = b.connection(a, r), rc = b.connection(r, c), cb = b.connection(c, last), rb = b.connection(r, last);
  for (uint32_t p = 0; p < n; ++p) {
    b.add(a, 0, Opcode::kSend, {in(p)}, {message(ar)});
    if (fused) {
      b.add(r, 0, Opcode::kRecvSend, {message(ar)}, {message(rb)});
    } else {
      b.add(r, 0, Opcode::kRecv, {message(ar)}, {scratch(p)});
    }
  }
  b.add(r, 0, Opcode::kSend, {in(n)}, {message(rc)});
  b.add(c, 0, Opcode::kRecvSend, {message(rc)}, {message(cb)});
  b.add(last, 0, Opcode::kRecv, {message(cb)}, {out(n)});
  for (uint32_t p = 0; p < n; ++p) {
    if (!fused) b.add(r, 0, Opcode::kSend, {scratch(p)}, {message(rb)});
    b.add(last, 0, Opcode::kRecv, {message(rb)}, {out(p)});
  }
  return b.build();
}

TEST(Verify, FusionCanRaiseTheSlotsNeeded) {
  for (uint32_t n : {1u, 2u, 5u, 13u}) {
    EXPECT_EQ(expect_proved(relay(n, false), 16).least_slots, 1u);
    EXPECT_EQ(expect_proved(relay(n, true), 16).least_slots, n);
    if (n > 1) expect_refused(relay(n, true), Fault::kDeadlock, n - 1);
  }
}

// A fused receive-send acquires both ends, then acts. If it freed its source before it had the other end, this would
// run with one slot.
TEST(Verify, FusedAcquiresBothEndsFirst) {
  Contract contract = make_contract(Kind::kCustom, 3);
  contract.custom_in = contract.custom_out = 3;
  PlanBuilder b(contract);
  b.scratch_places(4);
  uint32_t ar = b.connection(0, 1), ab = b.connection(0, 2), rb = b.connection(1, 2);
  // a -> r twice, then a -> b, which b takes before the relayed ones. r can hold the first in rb; the second stays in
  // ar until b takes the first: so a may not need a third slot of ar.
  for (uint32_t m = 0; m < 3; ++m) b.add(0, 0, Opcode::kSend, {in(m)}, {message(ar)});
  for (uint32_t m = 0; m < 3; ++m) b.add(1, 0, Opcode::kRecvSend, {message(ar)}, {message(rb)});
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(ab)});
  b.add(2, 0, Opcode::kRecv, {message(ab)}, {scratch(3)});
  for (uint32_t m = 0; m < 3; ++m) b.add(2, 0, Opcode::kRecv, {message(rb)}, {scratch(m)});
  EXPECT_EQ(check(b.build()).least_slots, 2u);
}

// A credit loop through two connections: rank 0 sends two messages ahead before it takes the first credit back, and
// rank 1 gives its first credit only after the second message.
TEST(Verify, CreditLoopPrintsTheLeastSlots) {
  Contract contract = make_contract(Kind::kCustom, 2);
  contract.custom_in = contract.custom_out = 2;
  PlanBuilder b(contract);
  b.scratch_places(4);
  uint32_t data = b.connection(0, 1), credit = b.connection(1, 0);
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(data)});
  b.add(0, 0, Opcode::kSend, {in(1)}, {message(data)});
  b.add(1, 0, Opcode::kSend, {in(0)}, {message(credit)});
  b.add(1, 0, Opcode::kSend, {in(1)}, {message(credit)});
  for (uint32_t m : {0u, 1u}) {
    b.add(0, 0, Opcode::kRecv, {message(credit)}, {scratch(m)});
    b.add(1, 0, Opcode::kRecv, {message(data)}, {scratch(m)});
  }
  VerifyResult result = check(b.build());
  EXPECT_EQ(result.least_slots, 2u);
  EXPECT_TRUE(mentions(result, "runs with 2 slots per connection or more")) << render(result);
  EXPECT_TRUE(mentions(check(b.build(), 1), "with 1 slot per connection it stops; it runs with 2 or more"));
}

// ---- races between lanes

TEST(Verify, RaceBetweenLanes) {
  auto build = [](bool ordered) {
    PlanBuilder b(Kind::kAllReduce, 1);
    b.scratch_places(1);
    auto copy = b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
    auto use = b.add(0, 1, Opcode::kCopy, {scratch(0)}, {out(0)});
    if (ordered) use.after(copy);
    return b.build();
  };
  expect_proved(build(true));
  expect_refused(build(false), Fault::kRace);
  VerifyResult result = check(build(false));
  EXPECT_TRUE(mentions(result, "scratch[0] of rank 0"));
  EXPECT_TRUE(mentions(result, "rank 0 lane 0 step 0 (`copy`, hand.coll:1)")) << render(result);
  EXPECT_TRUE(mentions(result, "rank 0 lane 1 step 0 (`copy`, hand.coll:2)"));
}

TEST(Verify, RaceOfWriteAfterRead) {
  auto build = [](bool ordered) {
    PlanBuilder b(Kind::kAllReduce, 1);
    b.scratch_places(1);
    auto first = b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
    auto read = b.add(0, 1, Opcode::kCopy, {scratch(0)}, {out(0)}).after(first);
    auto again = b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
    if (ordered) again.after(read);
    return b.build();
  };
  expect_proved(build(true));
  expect_refused(build(false), Fault::kRace);
}

TEST(Verify, RaceOfTwoWrites) {
  PlanBuilder b(Kind::kAllReduce, 1);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
  b.add(0, 1, Opcode::kCopy, {in(0)}, {out(0)});
  expect_refused(b.build(), Fault::kRace);
}

TEST(Verify, OrderIsTransitiveThroughLanesAndRanks) {
  // Lane 0 writes scratch and sends; rank 1 answers to lane 1, which may then read. No `after` is needed.
  auto build = [](bool answer_after) {
    PlanBuilder b(Kind::kBroadcast, 2);
    b.scratch_places(2);
    uint32_t forth = b.connection(0, 1), back = b.connection(1, 0);
    if (answer_after) {
      b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
      b.add(0, 0, Opcode::kSend, {in(0)}, {message(forth)});
    } else {
      b.add(0, 0, Opcode::kSend, {in(0)}, {message(forth)});
      b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
    }
    b.add(1, 0, Opcode::kRecvCopySend, {message(forth)}, {out(0), message(back)});
    b.add(0, 1, Opcode::kRecv, {message(back)}, {scratch(1)});
    b.add(0, 1, Opcode::kCopy, {scratch(0)}, {out(0)});
    return b.build();
  };
  expect_proved(build(true));
  expect_refused(build(false), Fault::kRace);
}

TEST(Verify, DroppingAnyDependenceOfAllPairsIsRefused) {
  Plan plan = all_pairs(4);
  for (size_t i = 0; i < plan.instructions.size(); ++i)
    for (uint32_t a = 0; a < plan.instructions[i].after_count; ++a) {
      Plan copy = plan;
      std::swap(copy.after[copy.instructions[i].first_after + a],
                copy.after[copy.instructions[i].first_after + copy.instructions[i].after_count - 1]);
      --copy.instructions[i].after_count;
      expect_refused(copy, Fault::kRace);
    }
}

TEST(Verify, InstructionOverlappingItself) {
  PlanBuilder b(Kind::kAllReduce, 1, 4);
  b.scratch_places(8);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}).length(4);
  b.add(0, 0, Opcode::kCopy, {out(0)}, {scratch(0)}).length(4);
  expect_proved(b.build());
  b.add(0, 0, Opcode::kCopy, {scratch(0)}, {scratch(1)}).length(3).part(0);
  expect_refused(b.build(), Fault::kRace);
}

// ---- limits

TEST(Verify, TargetLimits) {
  Plan plan = all_pairs(4);
  auto with = [&](auto change) {
    VerifyOptions options;
    options.limits.name = "toy";
    change(options.limits);
    return verify(plan, options);
  };
  auto refused = [&](auto change, const char* words) {
    VerifyResult result = with(change);
    EXPECT_EQ(result.story.fault, Fault::kLimit) << render(result);
    EXPECT_TRUE(mentions(result, words)) << render(result);
    EXPECT_TRUE(mentions(result, "of toy"));
  };
  EXPECT_TRUE(with([](TargetLimits& l) {
                l.max_lanes_per_rank = 3;
                l.max_channels = 1;
                l.max_steps_per_lane = 5;
                l.max_peers_per_lane = 1;
                l.max_scratch_places = 4;
              }).ok());
  refused([](TargetLimits& l) { l.max_lanes_per_rank = 2; }, "rank 0 has 3 lanes");
  refused([](TargetLimits& l) { l.max_channels = 0; }, "1 channels");
  refused([](TargetLimits& l) { l.max_steps_per_lane = 4; }, "5 steps");
  refused([](TargetLimits& l) { l.max_peers_per_lane = 0; }, "sends to 1 peers");
  refused([](TargetLimits& l) { l.max_scratch_places = 3; }, "4 scratch places");
}

TEST(Verify, EveryFaultHasItsOwnName) {
  std::vector<std::string> names;
  for (int f = 0; f <= static_cast<int>(Fault::kLimit); ++f) names.push_back(name(static_cast<Fault>(f)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace coll
