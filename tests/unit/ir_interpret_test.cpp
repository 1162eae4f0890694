// The interpreter on plans written by hand, against the contract's definition and against results worked out here.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/complete.h"
#include "ir/interpret.h"
#include "tests/unit/hand_plans.h"

namespace coll {
namespace {

using namespace hand;

// Every element of every rank within the contract's bound.
void expect_contract(const Plan& plan, const CallSpec& spec, const hand::World& world) {
  uint32_t bytes = size_bytes(spec.sizes.dtype);
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    uint64_t n = world.out_elements(r);
    std::vector<unsigned char> expected(n * bytes + 1);
    std::vector<double> bound;
    Status s = contract_result(plan.contract, spec, r, world.inputs(), expected.data(), &bound);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_EQ(bound.size(), n);
    for (uint64_t i = 0; i < n; ++i) {
      const unsigned char* want = &expected[i * bytes];
      const unsigned char* got = static_cast<const unsigned char*>(world.out(r)) + i * bytes;
      if (bound[i] == 0) {
        ASSERT_TRUE(equal_elements(spec.sizes.dtype, want, got, 1)) << "rank " << r << " element " << i;
      } else {
        double difference = std::fabs(load_as_double(spec.sizes.dtype, want) - load_as_double(spec.sizes.dtype, got));
        ASSERT_LE(difference, bound[i]) << "rank " << r << " element " << i;
      }
    }
  }
}

void check(const Plan& plan, DType type, RedOp op, uint64_t count, bool in_place, uint64_t slot_bytes) {
  SCOPED_TRACE(plan.name + " " + name(type) + " " + name(op) + " count " + std::to_string(count) +
               (in_place ? " in place" : ""));
  CallSpec spec = spec_of(plan, type, op, count, slot_bytes);
  hand::World world(plan, spec.sizes, in_place, 7);
  Status s = interpret(plan, spec, world.buffers());
  ASSERT_TRUE(s.ok()) << s.message();
  expect_contract(plan, spec, world);
}

TEST(Interpreter, AllReducesMeetTheirContractForEveryTypeAndOperator) {
  for (const Plan& plan : {fused_ring(1), fused_ring(2), fused_ring(5), plain_ring(3), all_pairs(3), all_pairs(5),
                           direct_all_reduce(3), fused_ring(3, 2)})
    for (int t = 0; t < kDTypeCount; ++t)
      for (int o = 0; o < kRedOpCount; ++o) {
        auto type = static_cast<DType>(t);
        auto op = static_cast<RedOp>(o);
        if (!supports(op, type)) continue;
        for (uint64_t count : {0u, 1u, 37u}) check(plan, type, op, count, false, 32);
        if (plan.inplace) check(plan, type, op, 53, true, 64);
      }
}

TEST(Interpreter, AllGatherOutOfPlaceAndInPlace) {
  for (uint64_t count : {1u, 5u, 64u})
    for (bool in_place : {false, true}) check(direct_all_gather(3), DType::kF32, RedOp::kSum, count, in_place, 64);
}

// The result may not depend on how the tiles are cut.
TEST(Interpreter, TilesDoNotShow) {
  Plan plan = fused_ring(3);
  CallSpec whole = spec_of(plan, DType::kF16, RedOp::kAvg, 1000);
  hand::World a(plan, whole.sizes, false, 3);
  ASSERT_TRUE(interpret(plan, whole, a.buffers()).ok());
  for (uint64_t slot : {16u, 48u, 1024u}) {
    CallSpec cut = spec_of(plan, DType::kF16, RedOp::kAvg, 1000, slot);
    hand::World b(plan, cut.sizes, false, 3);
    ASSERT_TRUE(interpret(plan, cut, b.buffers()).ok());
    EXPECT_TRUE(a.same_out(b)) << slot;
  }
}

TEST(Interpreter, MulticastAndSwitchReduction) {
  Builder b("switch", ContractKind::kAllReduce, 3);
  b.plan().groups.push_back({{0, 1, 2}});
  b.plan().inplace = false;
  b.plan().scratch_places.assign(3, 1);
  b.add(1, 0, Opcode::kSwitchReduce, {on_group(0, in(0))}, {scratch(0)});
  b.add(1, 0, Opcode::kMulticast, {scratch(0)}, {on_group(0, out(0))});
  Plan plan = b.finish();
  for (RedOp op : {RedOp::kSum, RedOp::kAvg, RedOp::kPremul, RedOp::kMax}) check(plan, DType::kBF16, op, 21, false, 32);
}

TEST(Interpreter, PutReduceAndGet) {
  // Rank 0 stores in0 + own scratch at rank 1, which holds what rank 0 got from it.
  Builder b("direct", ContractKind::kReduce, 2);
  b.plan().contract.root = 1;
  b.plan().inplace = false;
  b.plan().scratch_places = {1, 0};
  uint32_t ready = b.counter(0, 1), done = b.counter(1, 0);
  b.signal(1, 0, ready);
  b.wait(0, 0, ready);
  b.add(0, 0, Opcode::kGet, {at(1, in(0))}, {scratch(0)});
  b.add(0, 0, Opcode::kPutReduce, {in(0), scratch(0)}, {at(1, out(0))});
  b.signal(0, 0, done);
  b.wait(1, 0, done);
  Plan plan = b.finish();
  for (RedOp op : {RedOp::kSum, RedOp::kAvg, RedOp::kPremul}) check(plan, DType::kF32, op, 19, false, 32);
}

// Several places in one instruction, source and destination overlapping in place.
TEST(Interpreter, AnInstructionReadsAllItsSourcesBeforeItWrites) {
  Builder b("shift", ContractKind::kCustom, 1);
  b.plan().contract.custom_in = b.plan().contract.custom_out = 4;
  b.plan().contract.ensures = {{0, 1, false, {{0, 0}}}, {0, 2, false, {{0, 1}}}, {0, 3, false, {{0, 2}}}};
  b.add(0, 0, Opcode::kCopy, {in(0)}, {out(1)}, 0, {}, 3);
  Plan plan = b.finish();
  CallSpec spec = spec_of(plan, DType::kI32, RedOp::kSum, 2);
  int32_t memory[] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(interpret(plan, spec, {{memory, memory}}).ok());
  EXPECT_EQ(std::vector<int32_t>(memory, memory + 8), (std::vector<int32_t>{1, 2, 1, 2, 3, 4, 5, 6}));
}

TEST(Interpreter, PremulScalesWhereInIsRead) {
  Plan plan = fused_ring(2);
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kPremul, 2);
  spec.premul = {0.5, 3};
  float a[] = {1, 2}, b[] = {10, 20}, x[2], y[2];
  ASSERT_TRUE(interpret(plan, spec, {{a, x}, {b, y}}).ok());
  EXPECT_EQ(x[0], 0.5f + 30);
  EXPECT_EQ(y[1], 1.0f + 60);
}

TEST(Interpreter, Refusals) {
  Plan plan = fused_ring(2);
  float a[4] = {}, x[4];
  CallSpec bits = spec_of(plan, DType::kF32, RedOp::kBor, 2);
  EXPECT_EQ(interpret(plan, bits, {{a, x}, {a, x}}).code(), StatusCode::kInvalid);
  CallSpec sum = spec_of(plan, DType::kF32, RedOp::kSum, 2);
  EXPECT_EQ(interpret(plan, sum, {{a, x}, {a, nullptr}}).code(), StatusCode::kInvalid);
  EXPECT_EQ(interpret(plan, sum, {{a, x}}).code(), StatusCode::kInvalid);
  CallSpec premul = spec_of(plan, DType::kF32, RedOp::kPremul, 2);
  premul.premul.pop_back();
  EXPECT_EQ(interpret(plan, premul, {{a, x}, {a, x}}).code(), StatusCode::kInvalid);

  Builder lost("lost", ContractKind::kAllReduce, 2);
  lost.add(0, 0, Opcode::kSend, {in(0)}, {message(lost.connect(0, 1))});
  EXPECT_NE(interpret(lost.finish(), sum, {{a, x}, {a, x}}).message().find("leaves a message"), std::string::npos);
  Builder starved("starved", ContractKind::kAllReduce, 2);
  starved.add(1, 0, Opcode::kRecv, {message(starved.connect(0, 1))}, {out(0)});
  EXPECT_NE(interpret(starved.finish(), sum, {{a, x}, {a, x}}).message().find("no message"), std::string::npos);
  Builder outside("outside", ContractKind::kAllReduce, 2);
  outside.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(3)});
  EXPECT_NE(interpret(outside.finish(), sum, {{a, x}, {a, x}}).message().find("outside"), std::string::npos);
}

TEST(Completion, RingDividesWhereThePartialSumIsFull) {
  Plan plan = fused_ring(4);
  Completion c(plan);
  for (uint32_t i = 0; i < plan.instructions.size(); ++i)
    EXPECT_EQ(c.divisor(i, 0), plan.instructions[i].op == Opcode::kRecvReduceCopySend ? 4u : 0u) << i;
}

TEST(Completion, PlacesOfOneInstructionMayDiffer) {
  // Rank 0 sums both parts with rank 1's, and part 0 with rank 2's before that.
  Builder b("uneven", ContractKind::kReduce, 3, 2);
  b.plan().scratch_places.assign(3, 2);
  b.plan().inplace = false;
  b.add(2, 0, Opcode::kSend, {in(0)}, {message(b.connect(2, 0))}, 0, {}, 2);
  b.add(0, 0, Opcode::kRecv, {message(b.connect(2, 0))}, {scratch(0)}, 0, {}, 2);
  b.add(1, 0, Opcode::kSend, {in(0)}, {message(b.connect(1, 0))}, 0, {}, 2);
  b.add(0, 0, Opcode::kReduce, {in(0), scratch(0)}, {out(0)});
  b.add(0, 0, Opcode::kCopy, {in(1)}, {out(1)}, 1);
  b.add(0, 0, Opcode::kRecvReduce, {out(0), message(b.connect(1, 0))}, {out(0)}, 0, {}, 2);
  b.add(0, 0, Opcode::kReduce, {out(1), scratch(1)}, {out(1)}, 1);
  Plan plan = b.finish();
  Completion c(plan);
  uint32_t uneven = 0, last = 0;
  for (uint32_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].op == Opcode::kRecvReduce) uneven = i;
    if (plan.instructions[i].order == 6) last = i;
  }
  EXPECT_EQ(c.divisor(uneven, 0), 3u);
  EXPECT_EQ(c.divisor(uneven, 1), 0u);
  EXPECT_EQ(c.divisor(last, 0), 3u);
  for (DType type : {DType::kF32, DType::kF16, DType::kI8}) check(plan, type, RedOp::kAvg, 33, false, 64);
}

TEST(Completion, OnesOwnContractDividesByItsOwnSet) {
  // Rank 0's output is the average of two of three inputs.
  Builder b("some", ContractKind::kCustom, 3);
  b.plan().contract.custom_in = b.plan().contract.custom_out = 1;
  b.plan().contract.ensures = {{0, 0, true, {{0, 0}, {2, 0}}}};
  b.add(2, 0, Opcode::kSend, {in(0)}, {message(b.connect(2, 0))});
  b.add(0, 0, Opcode::kRecvReduce, {in(0), message(b.connect(2, 0))}, {out(0)});
  Plan plan = b.finish();
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kAvg, 1);
  float a = 1, c = 4, x = 0, y = 0;
  ASSERT_TRUE(interpret(plan, spec, {{&a, &x}, {&a, &y}, {&c, &y}}).ok());
  EXPECT_EQ(x, 2.5f);
}

TEST(ContractResult, BoundsTellWhatIsExact) {
  Plan plan = fused_ring(3);
  float in[3][2] = {{1, 1e38f}, {2, 3e38f}, {3, -3e38f}};
  float out[2];
  std::vector<double> bound;
  CallSpec sum = spec_of(plan, DType::kF32, RedOp::kSum, 2);
  ASSERT_TRUE(contract_result(plan.contract, sum, 0, {in[0], in[1], in[2]}, out, &bound).ok());
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(bound[0], 0);             // 1 + 2 + 3 is exact in any order
  EXPECT_TRUE(std::isinf(bound[1]));  // the order decides whether a partial sum overflows
  float third[2] = {1.0f / 3, 0x1p-30f};
  ASSERT_TRUE(contract_result(plan.contract, sum, 0, {in[0], third, third}, out, &bound).ok());
  EXPECT_GT(bound[0], 0);
  EXPECT_LT(bound[0], 1e-5);
  CallSpec max = spec_of(plan, DType::kF32, RedOp::kMax, 2);
  ASSERT_TRUE(contract_result(plan.contract, max, 0, {in[0], in[1], in[2]}, out, &bound).ok());
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(bound[0], 0);
}

// 9 elements of f32 in 2 instances: parts are cut alike, each instance has its own scratch.
TEST(LayoutTest, InstancesAndScratchDoNotOverlap) {
  Plan plan = all_pairs(3);
  plan.instances = 2;
  Layout layout(plan, {29, DType::kF32, {}}, 16);
  std::vector<int> covered(layout.buffer_elements(0, buffers::kScratch), 0), user(29, 0);
  for (const Lane& lane : plan.lanes_of(0))
    for (uint32_t s = lane.first; s < lane.first + lane.count; ++s) {
      const Instruction& i = plan.instructions[s];
      for (uint32_t n = 0; n < 2; ++n)
        for (uint64_t t = 0; t < layout.tiling().tiles; ++t) {
          uint64_t elements = layout.elements(0, i, 0, t, n);
          if (elements == 0) continue;
          for (const Operand& o : plan.destinations(i)) {
            if (o.space == Space::kConnection) continue;
            uint64_t first = layout.offset(0, i, o, 0, t, n);
            auto& hit = o.buffer == buffers::kScratch ? covered : user;
            ASSERT_LE(first + elements, hit.size());
            for (uint64_t e = first; e < first + elements; ++e) ++hit[e];
          }
        }
    }
  for (int h : user) EXPECT_EQ(h, 1);
  for (int h : covered) EXPECT_LE(h, 1);
}

TEST(LayoutTest, AllToAllVBlocksHaveTheirOwnLengths) {
  Builder b("v", ContractKind::kAllToAllV, 2);
  for (uint32_t r = 0; r < 2; ++r) {
    b.add(r, 0, Opcode::kCopy, {in(r)}, {out(r)});
    b.add(r, 1, Opcode::kSend, {in(1 - r)}, {message(b.connect(r, 1 - r))});
  }
  for (uint32_t r = 0; r < 2; ++r) b.add(r, 1, Opcode::kRecv, {message(b.connect(1 - r, r))}, {out(1 - r)});
  Plan plan = b.finish();
  CallSpec spec = spec_of(plan, DType::kI32, RedOp::kSum, 0, 16);
  spec.sizes.counts = {1, 5, 0, 2};
  hand::World world(plan, spec.sizes, false, 1);
  ASSERT_TRUE(interpret(plan, spec, world.buffers()).ok());
  expect_contract(plan, spec, world);
}

}  // namespace
}  // namespace coll
