// Which messages may stay in the sender's memory: granted where it is certain, refused where it is not.
#include <gtest/gtest.h>

#include "runtime/cpu/executor.h"
#include "runtime/cpu/message_order.h"
#include "runtime/cpu/sharing.h"
#include "tests/unit/hand_plans.h"

namespace coll {
namespace {

using namespace hand;

uint32_t with_order(const Plan& plan, uint32_t order) {
  for (uint32_t i = 0; i < plan.instructions.size(); ++i)
    if (plan.instructions[i].order == order) return i;
  return UINT32_MAX;
}

// A fused ring sends its input and its finished sums without a copy, in place too: the sum that overwrites a sent input
// comes back round the ring only after that input has been read. What is only passed on has no memory of its own.
TEST(Sharing, FusedRing) {
  for (uint32_t n : {2u, 3u, 8u}) {
    Plan plan = fused_ring(n);
    std::vector<Share> shares = shareable_messages(plan);
    for (uint32_t i = 0; i < shares.size(); ++i) {
      Opcode op = plan.instructions[i].op;
      bool kept = op == Opcode::kSend || op == Opcode::kRecvReduceCopySend || op == Opcode::kRecvCopySend;
      EXPECT_EQ(shares[i].operand != Share::kNone, kept) << n << " instruction " << i;
      EXPECT_EQ(shares[i].in_place, kept) << n << " instruction " << i;
      EXPECT_TRUE(shares[i].final_store) << i;  // nothing of `out` is read again
    }
  }
}

// Both ranks send their input and add the other's: in place, the sum may come before the peer has read the input.
Plan exchange() {
  Builder b("exchange", ContractKind::kAllReduce, 2);
  for (uint32_t r = 0; r < 2; ++r) b.add(r, 0, Opcode::kSend, {in(0)}, {message(b.connect(r, 1 - r))});
  for (uint32_t r = 0; r < 2; ++r) b.add(r, 0, Opcode::kRecvReduce, {in(0), message(b.connect(1 - r, r))}, {out(0)});
  return b.finish();
}

TEST(Sharing, AnExchangeInPlaceMustCopy) {
  Plan plan = exchange();
  std::vector<Share> shares = shareable_messages(plan);
  for (uint32_t order : {0u, 1u}) {
    const Share& share = shares[with_order(plan, order)];
    EXPECT_EQ(share.operand, 0);
    EXPECT_FALSE(share.in_place);
  }
  for (uint64_t seed = 1; seed < 30; ++seed) {
    ExecutorOptions options;
    options.slot_bytes = 64;
    options.order_seed = seed;
    Executor executor(std::make_shared<const Plan>(plan), options);
    CallSpec spec = spec_of(plan, DType::kI32, RedOp::kSum, 300, 64);
    hand::World world(plan, spec.sizes, true, seed), expected(plan, spec.sizes, true, seed);
    ASSERT_TRUE(interpret(plan, spec, expected.buffers()).ok());
    ASSERT_TRUE(executor.run(spec, {world.buffers()}).ok());
    ASSERT_TRUE(world.same_out(expected)) << seed;
  }
}

// The unfused ring overwrites partial sums in `out` that it has sent; the final sum arrives after they were read.
TEST(Sharing, PartialSumsThatAreOverwrittenLater) {
  Plan plan = plain_ring(4);
  std::vector<Share> shares = shareable_messages(plan);
  for (uint32_t i = 0; i < shares.size(); ++i) {
    if (plan.instructions[i].op != Opcode::kSend) continue;
    EXPECT_EQ(shares[i].operand, 0) << i;
    EXPECT_TRUE(shares[i].in_place) << i;
  }
  // A partial sum is read again: it stays in the caches.
  for (uint32_t i = 0; i < shares.size(); ++i) {
    if (plan.instructions[i].op != Opcode::kRecvReduce) continue;
    EXPECT_FALSE(shares[i].final_store) << i;
  }
}

TEST(Sharing, OverwrittenAtOnceMustCopy) {
  Builder b("overwrite", ContractKind::kSendRecv, 2);
  b.plan().contract.dst = 1;
  b.plan().scratch_places = {1, 0};
  b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)});
  b.add(0, 0, Opcode::kSend, {scratch(0)}, {message(b.connect(0, 1))});
  b.add(0, 0, Opcode::kReduce, {scratch(0), in(0)}, {scratch(0)});
  b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {out(0)});
  Plan plan = b.finish();
  EXPECT_EQ(shareable_messages(plan)[with_order(plan, 1)].operand, Share::kNone);
}

// Rank 1 answers with a message; rank 0 overwrites what it sent only after the answer. If the answer is of another
// part, it may be empty where the first message is not, and orders nothing.
TEST(MessageOrder, AnAnswerOrdersOnlyIfItIsNeverEmptyAlone) {
  for (uint32_t answer_part : {0u, 1u}) {
    Builder b("answer", ContractKind::kAllReduce, 2, 2);
    b.plan().scratch_places = {2, 2};
    b.add(0, 0, Opcode::kSend, {scratch(0)}, {message(b.connect(0, 1))}, 0);
    b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {scratch(0)}, 0);
    b.add(1, 0, Opcode::kSend, {in(answer_part)}, {message(b.connect(1, 0))}, answer_part);
    b.add(0, 0, Opcode::kRecv, {message(b.connect(1, 0))}, {scratch(1)}, answer_part);
    b.add(0, 0, Opcode::kCopy, {in(0)}, {scratch(0)}, 0);
    Plan plan = b.finish();
    MessageOrder order(plan);
    EXPECT_EQ(order.consumed_before(with_order(plan, 0), with_order(plan, 4)), answer_part == 0);
    EXPECT_FALSE(order.consumed_before(with_order(plan, 0), with_order(plan, 0)));
  }
}

TEST(MessageOrder, SignalsAndDependencesOrder) {
  Builder b("signal", ContractKind::kAllReduce, 2);
  b.plan().scratch_places = {1, 1};
  uint32_t read = b.counter(0, 1);
  b.add(0, 0, Opcode::kSend, {scratch(0)}, {message(b.connect(0, 1))});
  After received = b.add(1, 0, Opcode::kRecv, {message(b.connect(0, 1))}, {scratch(0)});
  b.signal(1, 1, read, {received});
  After waited = b.wait(0, 1, read);
  b.add(0, 2, Opcode::kCopy, {in(0)}, {scratch(0)}, 0, {waited});
  b.add(0, 3, Opcode::kCopy, {in(0)}, {scratch(0)});
  Plan plan = b.finish();
  MessageOrder order(plan);
  EXPECT_TRUE(order.consumed_before(with_order(plan, 0), with_order(plan, 4)));
  EXPECT_FALSE(order.consumed_before(with_order(plan, 0), with_order(plan, 5)));
}

}  // namespace
}  // namespace coll
