// The executor against the interpreter, to the bit, under many interleavings; and its failures.
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/cpu/executor.h"
#include "tests/unit/hand_plans.h"

namespace coll {
namespace {

using namespace hand;

std::shared_ptr<const Plan> shared(Plan plan) { return std::make_shared<const Plan>(std::move(plan)); }

// Three calls in a row with different data, against three interpretations.
void expect_like_interpreter(Executor& executor, const Plan& plan, const CallSpec& spec, bool in_place, uint64_t seed) {
  constexpr uint32_t kCalls = 3;
  std::vector<hand::World> worlds, expected;
  std::vector<std::vector<RankBuffers>> buffers;
  for (uint32_t c = 0; c < kCalls; ++c) {
    worlds.emplace_back(plan, spec.sizes, in_place, seed + c);
    expected.emplace_back(plan, spec.sizes, in_place, seed + c);
  }
  for (uint32_t c = 0; c < kCalls; ++c) {
    buffers.push_back(worlds[c].buffers());
    Status s = interpret(plan, spec, expected[c].buffers());
    ASSERT_TRUE(s.ok()) << s.message();
  }
  Status s = executor.run(spec, buffers, kCalls);
  ASSERT_TRUE(s.ok()) << s.message();
  for (uint32_t c = 0; c < kCalls; ++c) ASSERT_TRUE(worlds[c].same_out(expected[c])) << "call " << c;
}

void check_all(const Plan& plan, uint32_t slots, uint64_t seed, int types = kDTypeCount) {
  ExecutorOptions options;
  options.slots = slots;
  options.slot_bytes = 64;
  options.order_seed = seed;
  Executor executor(shared(plan), options);
  for (int t = 0; t < types; ++t)
    for (int o = 0; o < kRedOpCount; ++o) {
      auto type = static_cast<DType>(t);
      auto op = static_cast<RedOp>(o);
      if (!supports(op, type)) continue;
      for (uint64_t count : {0u, 1u, 41u, 250u}) {
        CallSpec spec = spec_of(plan, type, op, count, 64);
        for (bool in_place : {false, true}) {
          if (in_place && !plan.inplace) continue;
          SCOPED_TRACE(plan.name + " n " + std::to_string(plan.ranks()) + " k " + std::to_string(slots) + " " +
                       name(type) + " " + name(op) + " count " + std::to_string(count) + (in_place ? " in place" : ""));
          expect_like_interpreter(executor, plan, spec, in_place, seed + count);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
}

TEST(Executor, FusedRingIsTheInterpreterToTheBit) {
  for (uint32_t n : {1u, 2u, 3u, 5u})
    for (uint32_t slots : {2u, 8u}) check_all(fused_ring(n), slots, 0);
}

TEST(Executor, InstancesHaveTheirOwnConnections) { check_all(fused_ring(3, 2), 2, 0); }

TEST(Executor, PlainRingRunsWithOneSlot) {
  for (uint32_t n : {2u, 3u, 5u}) check_all(plain_ring(n), 1, 0);
}

TEST(Executor, AllPairs) {
  for (uint32_t n : {2u, 3u, 5u})
    for (uint32_t slots : {1u, 2u}) check_all(all_pairs(n), slots, 0);
}

TEST(Executor, Direct) {
  check_all(direct_all_gather(3), 1, 0);
  check_all(direct_all_reduce(3), 1, 0);
}

TEST(Executor, AnyInterleavingGivesTheSameBits) {
  for (const Plan& plan : {fused_ring(3), plain_ring(3), all_pairs(4), direct_all_gather(3), direct_all_reduce(2)})
    for (uint32_t slots : {1u, 2u, 8u}) {
      if (slots < plan.slots_needed) continue;
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        ExecutorOptions options;
        options.slots = slots;
        options.slot_bytes = 32;
        options.order_seed = seed;
        Executor executor(shared(plan), options);
        for (auto [type, op] : {std::pair(DType::kF16, RedOp::kAvg), std::pair(DType::kI32, RedOp::kSum)}) {
          SCOPED_TRACE(plan.name + " seed " + std::to_string(seed));
          CallSpec spec = spec_of(plan, type, op, 203, 32);
          expect_like_interpreter(executor, plan, spec, false, seed);
          if (plan.inplace) expect_like_interpreter(executor, plan, spec, true, seed);
        }
      }
    }
}

TEST(Executor, SwitchOperationsAreDoneInMemory) {
  Builder b("switch", ContractKind::kAllReduce, 3);
  b.plan().groups.push_back({{0, 1, 2}});
  b.plan().inplace = false;
  b.plan().scratch_places.assign(3, 1);
  std::vector<uint32_t> ready, done, read;
  for (uint32_t r = 0; r < 3; ++r) {
    ready.push_back(r == 1 ? 0 : b.counter(1, r));
    done.push_back(r == 1 ? 0 : b.counter(r, 1));
  }
  for (uint32_t r : {0u, 2u}) b.signal(r, 0, ready[r]);
  for (uint32_t r : {0u, 2u}) b.wait(1, 0, ready[r]);
  b.add(1, 0, Opcode::kSwitchReduce, {on_group(0, in(0))}, {scratch(0)});
  b.add(1, 0, Opcode::kMulticast, {scratch(0)}, {on_group(0, out(0))});
  for (uint32_t r : {0u, 2u}) b.signal(1, 0, done[r]);
  for (uint32_t r : {0u, 2u}) b.wait(r, 0, done[r]);
  check_all(b.finish(), 1, 0);
}

// An all-gather of whole blocks whose copy shifts places within one buffer, in place.
TEST(Executor, AnInstructionReadsAllItsSourcesBeforeItWrites) {
  Builder b("shift", ContractKind::kCustom, 1);
  b.plan().contract.custom_in = b.plan().contract.custom_out = 4;
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(1)}, 0, {}, 3);
  b.plan().inplace = true;
  auto plan = shared(b.finish());
  CallSpec spec = spec_of(*plan, DType::kI32, RedOp::kSum, 2);
  Executor executor(plan, {});
  int32_t memory[] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(executor.run(spec, {{{memory, memory}}}).ok());
  EXPECT_EQ(std::vector<int32_t>(memory, memory + 8), (std::vector<int32_t>{1, 2, 1, 2, 3, 4, 5, 6}));
}

// A relay that sends several places in one message, one of them empty.
TEST(Executor, MessagesOfSeveralPlaces) {
  Builder b("relay", ContractKind::kBroadcast, 3, 4);
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(0)}, 0, {}, 4);
  b.add(0, 1, Opcode::kSend, {in(0)}, {message(b.connect(0, 1))}, 0, {}, 4);
  b.add(1, 0, Opcode::kRecvCopySend, {message(b.connect(0, 1))}, {out(0), message(b.connect(1, 2))}, 0, {}, 4);
  b.add(2, 0, Opcode::kRecv, {message(b.connect(1, 2))}, {out(0)}, 0, {}, 4);
  check_all(b.finish(), 2, 0);
}

// A sender overwrites what it has just sent: the message must have been copied.
TEST(Executor, WhatIsOverwrittenIsNotShared) {
  Builder b("overwrite", ContractKind::kSendRecv, 2);
  b.plan().contract.root = 0;
  b.plan().contract.dst = 1;
  b.plan().scratch_places = {1, 1};
  b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
  b.add(0, 0, Opcode::kSend, {scratch(0)}, {message(b.connect(0, 1))});
  b.add(0, 0, Opcode::kReduce, {scratch(0), scratch(0)}, {scratch(0)});
  b.add(0, 0, Opcode::kSend, {scratch(0)}, {message(b.connect(0, 1))});
  b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {out(0)});
  b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {scratch(0)});
  Plan plan = b.finish();
  for (uint64_t seed = 0; seed < 20; ++seed) check_all(plan, 4, seed, 1);
}

// Large enough for results to be written around the caches; a count that fits no unit.
TEST(Executor, LargeBuffers) {
  for (const Plan& plan : {fused_ring(2), plain_ring(2)}) {
    Executor executor(shared(plan), {});
    for (auto [type, op] : {std::pair(DType::kF32, RedOp::kSum), std::pair(DType::kF16, RedOp::kAvg)}) {
      CallSpec spec = spec_of(plan, type, op, (5u << 20) / size_bytes(type) + 3);
      for (bool in_place : {false, true}) {
        hand::World world(plan, spec.sizes, in_place, 5), expected(plan, spec.sizes, in_place, 5);
        ASSERT_TRUE(interpret(plan, spec, expected.buffers()).ok());
        ASSERT_TRUE(executor.run(spec, {world.buffers()}).ok());
        EXPECT_TRUE(world.same_out(expected)) << plan.name << " " << name(type);
      }
    }
  }
}

TEST(Executor, ManyRanksAndLanesOnFewCores) {
  Plan plan = all_pairs(24);
  Executor executor(shared(plan), {});
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 5000);
  auto begin = std::chrono::steady_clock::now();
  expect_like_interpreter(executor, plan, spec, false, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Executor, ManyCallsReuseOneSetOfBuffers) {
  Plan plan = fused_ring(2);
  Executor executor(shared(plan), {});
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 100);
  hand::World world(plan, spec.sizes, false, 1), expected(plan, spec.sizes, false, 1);
  ASSERT_TRUE(interpret(plan, spec, expected.buffers()).ok());
  double seconds = -1;
  ASSERT_TRUE(executor.run(spec, {world.buffers()}, 500, &seconds).ok());
  EXPECT_TRUE(world.same_out(expected));
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 30);
}

TEST(Executor, ATimeOutNamesWhoWaitsForWhom) {
  Builder b("deadlock", ContractKind::kAllReduce, 2);
  b.add(1, 0, Opcode::kSend, {in(0)}, {message(b.connect(1, 0))});
  b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {out(0)});
  b.add(0, 0, Opcode::kRecv, {message(b.connect(1, 0))}, {out(0)});
  b.add(0, 0, Opcode::kRecv, {message(b.connect(1, 0))}, {out(0)});
  ExecutorOptions options;
  options.timeout = std::chrono::milliseconds(100);
  Plan plan = b.finish();
  Executor executor(shared(plan), options);
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 10);
  hand::World world(plan, spec.sizes, false, 1);
  Status s = executor.run(spec, {world.buffers()});
  EXPECT_EQ(s.code(), StatusCode::kTimeout);
  auto says = [&](const char* what) { return s.message().find(what) != std::string::npos; };
  EXPECT_TRUE(says("call 0 of deadlock timed out after 0.1")) << s.message();
  EXPECT_TRUE(says("rank 0 lane 0 step 1 tile 0 (recv, hand.coll:4) waits for a message from rank 1")) << s.message();
  EXPECT_TRUE(says("rank 1 lane 0 step 1 tile 0 (recv, hand.coll:2) waits for a message from rank 0")) << s.message();
  Status again = executor.run(spec, {world.buffers()});
  EXPECT_EQ(again.code(), StatusCode::kAborted);
  EXPECT_NE(again.message().find("failed before"), std::string::npos);
}

TEST(Executor, OneSlotTooFewDeadlocksAndSaysSo) {
  Plan plan = fused_ring(3);
  ExecutorOptions options;
  options.slots = 1;
  options.timeout = std::chrono::milliseconds(50);
  Executor executor(shared(plan), options);
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 60);
  hand::World world(plan, spec.sizes, false, 1);
  Status s = executor.run(spec, {world.buffers()});
  EXPECT_EQ(s.code(), StatusCode::kTimeout);
  EXPECT_NE(s.message().find("to free one of the 1 slots"), std::string::npos) << s.message();
}

// Lanes that lose their turn at random must not keep a deadlock alive.
TEST(Executor, TestingModeTimesOutToo) {
  Builder b("deadlock", ContractKind::kAllReduce, 2);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    b.add(0, lane, Opcode::kRecv, {message(b.connect(1, 0, lane))}, {out(0)});
    b.add(1, lane, Opcode::kRecv, {message(b.connect(0, 1, lane))}, {out(0)});
  }
  ExecutorOptions options;
  options.timeout = std::chrono::milliseconds(50);
  options.order_seed = 9;
  Plan plan = b.finish();
  Executor executor(shared(plan), options);
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 1);
  hand::World world(plan, spec.sizes, false, 1);
  EXPECT_EQ(executor.run(spec, {world.buffers()}).code(), StatusCode::kTimeout);
}

TEST(Executor, AMissingSignalIsNamed) {
  Builder b("silent", ContractKind::kAllReduce, 2);
  uint32_t c = b.counter(0, 1);
  b.wait(0, 0, c, 2);
  b.signal(1, 0, c);
  Plan plan = b.finish();
  ExecutorOptions options;
  options.timeout = std::chrono::milliseconds(50);
  Executor executor(shared(plan), options);
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 1);
  hand::World world(plan, spec.sizes, false, 1);
  Status s = executor.run(spec, {world.buffers()});
  EXPECT_EQ(s.code(), StatusCode::kTimeout);
  EXPECT_NE(s.message().find("waits for signal 2 of counter 0 from rank 1, which has sent 1 in this call"),
            std::string::npos)
      << s.message();
}

TEST(Executor, InvalidArgumentsAreRefusedAndDoNoHarm) {
  Plan plan = fused_ring(2);
  Executor executor(shared(plan), {});
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kSum, 4);
  hand::World world(plan, spec.sizes, false, 1);
  EXPECT_EQ(executor.run(spec, {{world.buffers()[0]}}).code(), StatusCode::kInvalid);
  EXPECT_EQ(executor.run(spec, {world.buffers(), world.buffers()}, 3).code(), StatusCode::kInvalid);
  EXPECT_EQ(executor.run(spec, {{world.buffers()[0], {nullptr, nullptr}}}).code(), StatusCode::kInvalid);
  CallSpec bits = spec_of(plan, DType::kF32, RedOp::kBand, 4);
  EXPECT_EQ(executor.run(bits, {world.buffers()}).code(), StatusCode::kInvalid);
  EXPECT_TRUE(executor.run(spec, {world.buffers()}).ok());
}

}  // namespace
}  // namespace coll
