// The verifier on direct accesses: puts, gets, counters, multicast and in-switch reduction, over several calls.
#include <gtest/gtest.h>

#include "ir/verify.h"
#include "tests/unit/plan_builder.h"

namespace coll {
namespace {

using namespace coll::testing;
using Kind = ContractKind;

VerifyResult check(const Plan& plan, uint32_t calls = 3) {
  VerifyOptions options;
  options.calls = calls;
  return verify(plan, options);
}

void expect_refused(const Plan& plan, Fault fault, uint32_t calls = 3) {
  VerifyResult result = check(plan, calls);
  EXPECT_EQ(result.verdict, Verdict::kRefused) << render(result);
  EXPECT_STREQ(name(result.story.fault), name(fault)) << render(result);
}

VerifyResult expect_proved(const Plan& plan, uint32_t calls = 3) {
  VerifyResult result = check(plan, calls);
  EXPECT_TRUE(result.ok()) << render(result);
  return result;
}

// Rank 0 sends twice, then puts into m; rank 1 reads m, then receives both. With one slot the second send must wait
// for the first receive, which is after the read: but a freed slot is no ordering.
TEST(VerifyDirect, FreedSlotIsNoOrdering) {
  for (bool acknowledged : {false, true}) {
    Contract contract = make_contract(Kind::kCustom, 2);
    contract.custom_in = contract.custom_out = 1;
    PlanBuilder b(contract);
    b.scratch_places(3);
    uint32_t c = b.connection(0, 1), back = b.connection(1, 0);
    b.add(1, 0, Opcode::kCopy, {in(0)}, {scratch(0)});  // m
    b.add(1, 0, Opcode::kCopy, {scratch(0)}, {out(0)});
    if (acknowledged) b.add(1, 0, Opcode::kSend, {in(0)}, {message(back)});
    for (uint32_t m : {0u, 1u}) {
      b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
      b.add(1, 0, Opcode::kRecv, {message(c)}, {scratch(1 + m)});
    }
    if (acknowledged) b.add(0, 0, Opcode::kRecv, {message(back)}, {scratch(0)});
    b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kScratch, 0)});
    uint32_t done = b.counter(1, 0);
    b.signal(0, 0, done);
    b.wait(1, 0, done);
    if (acknowledged) {
      expect_proved(b.build());
    } else {
      for (uint32_t slots : {1u, 2u, 8u}) {
        VerifyOptions options;
        options.slots = slots;
        EXPECT_EQ(verify(b.build(), options).story.fault, Fault::kRace);
      }
    }
  }
}

TEST(VerifyDirect, OneShotRacesWithTheNextCall) {
  for (uint32_t n : {2u, 3u, 6u}) {
    Plan plan = direct_one_shot(n, false);
    for (uint32_t calls : {2u, 3u, 6u}) expect_refused(plan, Fault::kRace, calls);
    VerifyResult result = check(plan);
    EXPECT_NE(render(result).find("of call 2"), std::string::npos) << render(result);
    expect_proved(plan, 1);  // alone it is right
    for (uint32_t calls : {1u, 2u, 3u, 6u}) expect_proved(direct_one_shot(n, true), calls);
  }
  EXPECT_TRUE(expect_proved(direct_one_shot(2, true)).bits_equal);
}

TEST(VerifyDirect, EverySignalAndWaitOfOneShotCounts) {
  Plan plan = direct_one_shot(3, true);
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].op != Opcode::kWait) continue;
    // The wait and its signal replaced by ones of a counter that orders nothing else: rank 0 for itself.
    Plan copy = plan;
    uint32_t counter = copy.instructions[i].counter;
    for (Instruction& other : copy.instructions) {
      if (other.counter != counter || (other.op != Opcode::kSignal && other.op != Opcode::kWait)) continue;
      other.op = Opcode::kCopy;  // in -> unused scratch
      other.source_count = other.destination_count = 1;
      other.first_operand = static_cast<uint32_t>(copy.operands.size());
    }
    copy.operands.push_back(in(0));
    copy.operands.push_back(scratch(3));
    for (uint32_t& places : copy.scratch_places) places = 4;
    VerifyResult result = check(copy);
    EXPECT_EQ(result.story.fault, Fault::kRace) << render(result);
  }
}

// A put after the second signal must not be taken as ordered by a wait for the first.
TEST(VerifyDirect, WaitJoinsTheSignalItNames) {
  auto build = [](uint32_t first_wait) {
    PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
    b.scratch_places(1);
    uint32_t ready = b.counter(0, 1), c = b.counter(1, 0);
    b.signal(1, 0, ready);
    b.wait(0, 0, ready);
    b.signal(0, 0, c);
    b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kScratch, 0)});
    b.signal(0, 0, c);
    b.wait(1, 0, c, first_wait);
    b.add(1, 0, Opcode::kCopy, {scratch(0)}, {out(0)});
    b.wait(1, 0, c, 2);
    return b.build();
  };
  expect_proved(build(2));
  expect_refused(build(1), Fault::kRace, 1);
}

TEST(VerifyDirect, ReadBeforeThePutIsSignalled) {
  PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
  b.scratch_places(1);
  uint32_t ready = b.counter(0, 1), c = b.counter(1, 0);
  b.signal(1, 0, ready);
  b.wait(0, 0, ready);
  b.signal(0, 0, c);  // too early
  b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kScratch, 0)});
  b.wait(1, 0, c);
  b.add(1, 0, Opcode::kCopy, {scratch(0)}, {out(0)});
  expect_refused(b.build(), Fault::kRace, 1);
}

// Rank 1 gets rank 0's `in`: it must know that rank 0 is there, and rank 0 must not return before.
TEST(VerifyDirect, GetNeedsReadyAndDone) {
  auto build = [](bool ready, bool done, bool done_early) {
    PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
    uint32_t here = b.counter(1, 0), finished = b.counter(0, 1);
    if (ready) b.signal(0, 0, here);
    if (ready) b.wait(1, 0, here);
    if (done && done_early) b.signal(1, 0, finished);
    b.add(1, 0, Opcode::kGet, {peer(0, buffers::kIn, 0)}, {out(0)});
    if (done && !done_early) b.signal(1, 0, finished);
    if (done) b.wait(0, 0, finished);
    return b.build();
  };
  expect_proved(build(true, true, false));
  for (uint32_t calls : {1u, 3u}) {
    expect_refused(build(true, false, false), Fault::kAccessAfterExit, calls);
    expect_refused(build(false, true, false), Fault::kAccessAfterExit, calls);
    expect_refused(build(true, true, true), Fault::kAccessAfterExit, calls);
  }
  EXPECT_NE(render(check(build(true, false, false))).find("rank 0 may have left the call"), std::string::npos);
  EXPECT_NE(render(check(build(false, true, false))).find("before rank 0 has said that it entered"), std::string::npos);
}

// premul: the owner scales its input by its own factor when it first reads it; a peer that reads it raw would not.
TEST(VerifyDirect, PeersReadingRawInputsAreReported) {
  EXPECT_FALSE(expect_proved(direct_one_shot(2, true)).peers_read_in) << "puts are done by the owner";
  VerifyResult in_switch = expect_proved(switch_all_reduce(2, true, true));
  EXPECT_TRUE(in_switch.peers_read_in);
  EXPECT_NE(render(in_switch).find("a peer reads raw `in`"), std::string::npos) << render(in_switch);
}

TEST(VerifyDirect, PutIntoOutNeedsReadyAndDone) {
  auto build = [](bool ready, bool done) {
    PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
    uint32_t here = b.counter(0, 1), finished = b.counter(1, 0);
    if (ready) b.signal(1, 0, here);
    if (ready) b.wait(0, 0, here);
    b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kOut, 0)});
    if (done) b.signal(0, 0, finished);
    if (done) b.wait(1, 0, finished);
    return b.build();
  };
  expect_proved(build(true, true));
  expect_refused(build(true, false), Fault::kAccessAfterExit);
  expect_refused(build(false, true), Fault::kAccessAfterExit);
}

TEST(VerifyDirect, GetReduceAndPutReduce) {
  PlanBuilder b(Kind::kAllReduce, 2);
  uint32_t here = b.counter(1, 0), finished = b.counter(0, 1);
  b.signal(0, 0, here);
  b.wait(1, 0, here);
  b.add(1, 0, Opcode::kGetReduce, {in(0), peer(0, buffers::kIn, 0)}, {out(0)});
  b.add(1, 0, Opcode::kPut, {out(0)}, {peer(0, buffers::kOut, 0)});
  b.signal(1, 0, finished);
  b.wait(0, 0, finished);
  EXPECT_TRUE(expect_proved(b.build()).bits_equal);
  b.header().inplace = true;  // rank 0's `in` is read before it is overwritten: fine too
  expect_proved(b.build());

  PlanBuilder p(Kind::kAllReduce, 1 + 1);
  uint32_t h = p.counter(1, 0), f = p.counter(0, 1);
  p.scratch_places(1);
  p.signal(0, 0, h);
  p.wait(1, 0, h);
  p.add(1, 0, Opcode::kGet, {peer(0, buffers::kIn, 0)}, {scratch(0)});
  p.add(1, 0, Opcode::kReduce, {in(0), scratch(0)}, {out(0)});
  p.add(1, 0, Opcode::kPutReduce, {scratch(0), in(0)}, {peer(0, buffers::kOut, 0)});
  p.signal(1, 0, f);
  p.wait(0, 0, f);
  EXPECT_TRUE(expect_proved(p.build()).bits_equal);
}

TEST(VerifyDirect, InPlacePutOverAnInputStillToBeRead) {
  auto build = [](bool put_first) {
    PlanBuilder b(Kind::kAllReduce, 2);
    b.header().inplace = true;
    b.scratch_places(1);
    uint32_t here = b.counter(1, 0), finished = b.counter(0, 1);
    b.signal(0, 0, here);
    b.wait(1, 0, here);
    b.add(1, 0, Opcode::kGet, {peer(0, buffers::kIn, 0)}, {scratch(0)});
    if (put_first) b.add(1, 0, Opcode::kPutReduce, {scratch(0), in(0)}, {peer(0, buffers::kOut, 0)});
    b.add(1, 0, Opcode::kGetReduce, {in(0), peer(0, buffers::kIn, 0)}, {out(0)});
    if (!put_first) b.add(1, 0, Opcode::kPut, {out(0)}, {peer(0, buffers::kOut, 0)});
    b.signal(1, 0, finished);
    b.wait(0, 0, finished);
    return b.build();
  };
  expect_proved(build(false));
  expect_refused(build(true), Fault::kInPlace);
}

TEST(VerifyDirect, DirectPutRacesWithALocalRead) {
  // Rank 1 reads its out while rank 0 may be putting there.
  PlanBuilder b(make_contract(Kind::kSendRecv, 2, 0, 1));
  b.scratch_places(1);
  uint32_t here = b.counter(0, 1), finished = b.counter(1, 0), c = b.connection(0, 1);
  b.add(0, 0, Opcode::kSend, {in(0)}, {message(c)});
  b.add(1, 0, Opcode::kRecv, {message(c)}, {out(0)});
  b.signal(1, 0, here);
  b.add(1, 0, Opcode::kCopy, {out(0)}, {scratch(0)});
  b.wait(0, 0, here);
  b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kOut, 0)});
  b.signal(0, 0, finished);
  b.wait(1, 0, finished);
  expect_refused(b.build(), Fault::kRace);
}

TEST(VerifyDirect, SwitchReductionAndMulticast) {
  for (uint32_t n : {2u, 3u, 8u}) {
    EXPECT_TRUE(expect_proved(switch_all_reduce(n, true, true)).bits_equal) << "each part is reduced once";
    expect_refused(switch_all_reduce(n, false, true), Fault::kAccessAfterExit);
    expect_refused(switch_all_reduce(n, true, false), Fault::kAccessAfterExit);
    // Through scratch: the last barrier says that all has arrived, and the first one of the next call that it is free.
    expect_proved(switch_all_reduce(n, true, true, true));
  }
}

TEST(VerifyDirect, MulticastRace) {
  // Two ranks multicast into the same place.
  PlanBuilder b(Kind::kBroadcast, 2);
  b.scratch_places(1);
  uint32_t everyone = b.group_of({0, 1});
  b.add(0, 0, Opcode::kMulticast, {in(0)}, {group(everyone, buffers::kScratch, 0)});
  b.add(1, 0, Opcode::kCopy, {scratch(0)}, {out(0)});
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)});
  expect_refused(b.build(), Fault::kRace);
}

TEST(VerifyDirect, EachRankReducingInTheSwitchMayDiffer) {
  PlanBuilder b(Kind::kAllReduce, 2);
  uint32_t everyone = b.group_of({0, 1});
  uint32_t begin[] = {b.counter(0, 1), b.counter(1, 0)}, end[] = {b.counter(0, 1), b.counter(1, 0)};
  for (uint32_t r : {0u, 1u}) b.signal(r, 0, begin[1 - r]);
  for (uint32_t r : {0u, 1u}) b.wait(r, 0, begin[r]);
  for (uint32_t r : {0u, 1u}) b.add(r, 0, Opcode::kSwitchReduce, {group(everyone, buffers::kIn, 0)}, {out(0)});
  for (uint32_t r : {0u, 1u}) b.signal(r, 0, end[1 - r]);
  for (uint32_t r : {0u, 1u}) b.wait(r, 0, end[r]);
  EXPECT_FALSE(expect_proved(b.build()).bits_equal);
}

TEST(VerifyDirect, MulticastIntoInIsRefused) {
  PlanBuilder b(Kind::kAllReduce, 2);
  uint32_t everyone = b.group_of({0, 1});
  b.add(0, 0, Opcode::kMulticast, {in(0)}, {group(everyone, buffers::kIn, 0)});
  expect_refused(b.build(), Fault::kWritesIn);
}

TEST(VerifyDirect, MalformedPeersGroupsAndCounters) {
  auto one = [](auto change) {
    PlanBuilder b(Kind::kAllReduce, 2);
    b.scratch_places(1);
    change(b);
    expect_refused(b.build(), Fault::kMalformed);
  };
  one([](PlanBuilder& b) { b.add(0, 0, Opcode::kPut, {in(0)}, {peer(0, buffers::kScratch, 0)}); });
  one([](PlanBuilder& b) { b.add(0, 0, Opcode::kPut, {in(0)}, {peer(2, buffers::kScratch, 0)}); });
  one([](PlanBuilder& b) { b.add(0, 0, Opcode::kPut, {in(0)}, {peer(1, buffers::kScratch, 1)}); });
  one([](PlanBuilder& b) { b.add(0, 0, Opcode::kMulticast, {in(0)}, {group(0, buffers::kScratch, 0)}); });
  one([](PlanBuilder& b) { b.add(0, 0, Opcode::kMulticast, {in(0)}, {group(b.group_of({1}), buffers::kScratch, 0)}); });
  one([](PlanBuilder& b) { b.group_of({1, 1}); });
  one([](PlanBuilder& b) { b.group_of({}); });
  one([](PlanBuilder& b) { b.signal(0, 0, 4); });
  one([](PlanBuilder& b) { b.signal(0, 0, b.counter(0, 1)); });
  one([](PlanBuilder& b) { b.wait(0, 0, b.counter(1, 0)); });
  one([](PlanBuilder& b) { b.wait(0, 0, b.counter(0, 1), 0); });
}

}  // namespace
}  // namespace coll
