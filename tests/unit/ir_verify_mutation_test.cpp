// Mutants: one thing of a right plan is changed at random. Whatever the verifier still accepts must run right, in every
// order of the lanes that is tried, with any number of slots that it allows, over three calls in a row.
#include <gtest/gtest.h>

#include <random>

#include "ir/verify.h"
#include "ir/verify_witness.h"
#include "tests/unit/plan_builder.h"
#include "tests/unit/plan_machine.h"

namespace coll {
namespace {

using namespace coll::testing;
using Random = std::mt19937_64;

// Rank 1 gets rank 0's input, sums, and puts the result back; ready and done around.
Plan direct_pair() {
  PlanBuilder b(ContractKind::kAllReduce, 2, 2);
  b.header().inplace = true;
  b.scratch_places(2);
  uint32_t here = b.counter(1, 0), finished = b.counter(0, 1);
  b.signal(0, 0, here);
  b.wait(1, 0, here);
  b.add(1, 0, Opcode::kGet, {peer(0, buffers::kIn, 0)}, {scratch(0)});
  b.add(1, 0, Opcode::kReduce, {in(0), scratch(0)}, {out(0)});
  b.add(1, 0, Opcode::kGetReduce, {in(1), peer(0, buffers::kIn, 1)}, {out(1)});
  b.add(1, 0, Opcode::kPut, {out(0)}, {peer(0, buffers::kOut, 0)}).length(2);
  b.signal(1, 0, finished);
  b.wait(0, 0, finished);
  return b.build();
}

// All-gather in place with a lane for each direction, through scratch.
Plan two_lane_gather(uint32_t n) {
  PlanBuilder b(ContractKind::kAllGather, n);
  b.header().inplace = true;
  b.scratch_places(1);
  std::vector<uint32_t> up, down;
  for (uint32_t r = 0; r < n; ++r) up.push_back(b.connection(r, (r + 1) % n));
  for (uint32_t r = 0; r < n; ++r) down.push_back(b.connection(r, (r + n - 1) % n, 1));
  for (uint32_t r = 0; r < n; ++r) {
    b.add(r, 0, Opcode::kSend, {in(0)}, {message(up[r])});
    b.add(r, 1, Opcode::kSend, {in(0)}, {message(down[r])});
    b.add(r, 2, Opcode::kCopy, {in(0)}, {out(r)});
  }
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t before = (r + n - 1) % n, behind = (r + 1) % n;
    auto got = b.add(r, 0, Opcode::kRecv, {message(up[before])}, {scratch(0)});
    b.add(r, 2, Opcode::kCopy, {scratch(0)}, {out(before)}).after(got);
    if (n > 2)
      b.add(r, 1, Opcode::kRecv, {message(down[behind])}, {out(behind)});
    else
      b.add(r, 1, Opcode::kRecv, {message(down[behind])}, {out(behind)}).after(2, 1);
  }
  return b.build();
}

void erase(Plan& plan, uint32_t index) {
  uint32_t l = 0;
  while (plan.lanes[l].first + plan.lanes[l].count <= index) ++l;
  uint32_t step = index - plan.lanes[l].first, lane = plan.lane_in_rank(l), rank = plan.lanes[l].rank;
  for (const Lane& other : plan.lanes_of(rank))
    for (uint32_t i = other.first; i < other.first + other.count; ++i) {
      Instruction& in = plan.instructions[i];
      for (uint32_t a = 0; a < in.after_count;) {
        After& after = plan.after[in.first_after + a];
        if (after.lane == lane && after.step == step) {
          after = plan.after[in.first_after + --in.after_count];
          continue;
        }
        if (after.lane == lane && after.step > step) --after.step;
        ++a;
      }
    }
  plan.instructions.erase(plan.instructions.begin() + index);
  --plan.lanes[l].count;
  for (uint32_t m = l + 1; m < plan.lanes.size(); ++m) --plan.lanes[m].first;
}

// False if nothing was changed.
bool mutate(Plan& plan, Random& random) {
  auto any = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  uint32_t index = any(plan.instructions.size());
  Instruction& i = plan.instructions[index];
  uint32_t operands = static_cast<uint32_t>(i.source_count) + i.destination_count;
  Operand none;
  Operand& operand = operands == 0 ? none : plan.operands[i.first_operand + any(operands)];
  Operand before = operand;
  auto set = [](auto& what, auto value) {
    bool changed = what != value;
    what = value;
    return changed;
  };
  switch (any(13)) {
    case 0:
      erase(plan, index);
      return true;
    case 1:  // swap with the next of its lane
      for (const Lane& lane : plan.lanes)
        if (index >= lane.first && index + 1 < lane.first + lane.count)
          return std::swap(plan.instructions[index], plan.instructions[index + 1]), true;
      return false;
    case 2:
      return operands > 0 && set(operand.place, any(operand.place + 3));
    case 3:
      return operands > 0 && operand.space != Space::kConnection && set(operand.buffer, uint16_t(any(3)));
    case 4:
      if (operand.space == Space::kConnection) return set(operand.rank, any(plan.connections.size()));
      return operand.space == Space::kPeer && set(operand.rank, any(plan.ranks()));
    case 5:
      return i.after_count > 0 && i.after_count-- > 0;
    case 6:
      return i.after_count > 0 && set(plan.after[i.first_after + any(i.after_count)].step, any(4));
    case 7:
      return set(i.first_part, any(4) == 0 ? kLongestPart : any(plan.grids[0].parts));
    case 8:
      return set(i.length, 1 + any(2));
    case 9:
      return i.op == Opcode::kWait && set(i.value, any(3));
    case 10:
      return !plan.counters.empty() && (i.op == Opcode::kWait || i.op == Opcode::kSignal) &&
             set(i.counter, any(plan.counters.size()));
    case 11:
      return set(i.op, static_cast<Opcode>(any(19)));
    default:  // an operand of some other instruction
      operand = plan.operands[any(plan.operands.size())];
      return operands > 0 && operand != before;
  }
}

TEST(VerifyMutation, AcceptedMutantsRunRight) {
  std::vector<Plan> plans = {fused_ring(2),
                             fused_ring(4),
                             all_pairs(3),
                             direct_one_shot(2, true),
                             direct_one_shot(3, true),
                             direct_pair(),
                             two_lane_gather(2),
                             two_lane_gather(3),
                             switch_all_reduce(2, true, true),
                             switch_all_reduce(3, true, true, true)};
  Random random(7);
  uint32_t accepted = 0, refused = 0, unjudged = 0;
  for (const Plan& plan : plans) {
    VerifyResult original = verify(plan);
    ASSERT_TRUE(original.ok()) << plan.name << ": " << render(original);
    for (uint32_t m = 0; m < 300; ++m) {
      Plan mutant = plan;
      for (uint32_t changes = m == 0 ? 0 : 1 + (m % 4 == 3); changes > 0;)  // the first is the plan itself
        if (mutate(mutant, random)) --changes;
      assign_witness(mutant);
      VerifyOptions options;
      options.contents = m % 2 ? VerifyOptions::Contents::kExact : VerifyOptions::Contents::kFingerprint;
      VerifyResult result = verify(mutant, options);
      if (result.verdict == Verdict::kCannotBeJudged) ++unjudged;
      if (result.verdict == Verdict::kRefused) ++refused;
      if (!result.ok()) {
        ASSERT_FALSE(result.story.lines.empty());
        continue;
      }
      ++accepted;
      for (uint32_t seed = 0; seed < 20; ++seed) {
        uint32_t slots = result.least_slots + (seed % 3 == 0 ? 0 : seed);
        bool inplace = mutant.inplace && seed % 2 == 1;
        PlanMachine machine(mutant, slots, 3, inplace, seed);
        std::string fault = machine.run();
        ASSERT_EQ(fault, "") << plan.name << " mutant " << m << " seed " << seed << " with " << slots << " slots"
                             << (inplace ? " in place" : "") << "\n"
                             << render(result);
      }
    }
  }
  // The test means something only if mutants fall on both sides.
  EXPECT_GT(accepted, 200u);
  EXPECT_GT(refused, 2000u);
  EXPECT_GT(unjudged, 0u);
}

// The machine itself finds what is wrong: plans that the verifier refuses for a race or a deadlock fail in it.
TEST(VerifyMutation, TheMachineFindsRacesAndDeadlocks) {
  auto fails = [](const Plan& plan, uint32_t slots, uint32_t calls) {
    for (uint32_t seed = 0; seed < 200; ++seed)
      if (!PlanMachine(plan, slots, calls, false, seed).run().empty()) return true;
    return false;
  };
  EXPECT_TRUE(fails(fused_ring(3), 1, 1));
  EXPECT_FALSE(fails(fused_ring(3), 2, 3));
  EXPECT_TRUE(fails(direct_one_shot(3, false), 8, 3));
  EXPECT_FALSE(fails(direct_one_shot(3, false), 8, 1));
  EXPECT_TRUE(fails(switch_all_reduce(2, false, true), 8, 2));
  EXPECT_TRUE(fails(switch_all_reduce(2, true, false), 8, 2));
}

}  // namespace
}  // namespace coll
