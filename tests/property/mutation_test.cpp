// Mutated plans: whatever the verifier accepts must run right.
//
// Verified plans of the library, staged and direct, are damaged at random: instructions dropped, swapped, duplicated or
// redirected, dependences lost, counters and extents changed. A mutant that the verifier refuses is done with. One that
// it accepts (it computes the same in another way) is run: on integers that wrap and on floats whose sums are exact,
// with 20 seeded lane orders, with every k in 1, 2, 8 with which it should run, three calls in a row.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "library_plans.h"

namespace coll {
namespace {

using testing::Setting;

struct Subject {
  const char* algorithm;
  Setting setting;
};

const Subject kSubjects[] = {
    {"ring", {3}},
    {"ring", {4}},
    {"allpairs", {3}},
    {"oneshot", {3}},
    {"twoshot", {3}},
    {"tree", {5}},
    {"double_tree", {4}},
    {"direct", {4}},
    {"recursive_doubling", {4}},
    {"halving_doubling", {6}},
    {"bruck_allgather", {5}},
    {"bruck_alltoall", {4}},
    {"binomial_broadcast", {5, 1, 2}},
    {"binomial_reduce", {5, 1, 1}},
    {"binomial_gather", {4}},
    {"binomial_scatter", {4, 1, 3}},
    {"ring_allgather", {4}},
    {"ring_reduce_scatter", {4}},
    {"pat_allgather", {4}},
    {"chain_broadcast", {3}},
    {"hierarchical", {4, 2}},
    {"swing", {4}},
    {"direct_alltoall", {3}},
    {"parameter_server", {4}},
};

// A plan as lists, so that instructions can come and go.
struct Loose {
  struct Item {
    Instruction instruction;
    std::vector<Operand> operands;
    std::vector<After> after;
  };
  Plan frame;
  std::vector<std::vector<Item>> lanes;

  explicit Loose(const Plan& plan) : frame(plan) {
    for (const Lane& lane : plan.lanes) {
      lanes.emplace_back();
      for (uint32_t i = 0; i < lane.count; ++i) {
        const Instruction& in = plan.instructions[lane.first + i];
        Item item;
        item.instruction = in;
        item.operands.assign(plan.operands.begin() + in.first_operand,
                             plan.operands.begin() + in.first_operand + in.source_count + in.destination_count);
        auto afters = plan.afters(in);
        item.after.assign(afters.begin(), afters.end());
        lanes.back().push_back(item);
      }
    }
  }

  Plan build() const {
    Plan plan = frame;
    plan.instructions.clear();
    plan.operands.clear();
    plan.after.clear();
    for (size_t l = 0; l < lanes.size(); ++l) {
      plan.lanes[l].first = static_cast<uint32_t>(plan.instructions.size());
      plan.lanes[l].count = static_cast<uint32_t>(lanes[l].size());
      for (const Item& item : lanes[l]) {
        Instruction i = item.instruction;
        i.first_operand = static_cast<uint32_t>(plan.operands.size());
        i.first_after = static_cast<uint32_t>(plan.after.size());
        i.after_count = static_cast<uint16_t>(item.after.size());
        plan.operands.insert(plan.operands.end(), item.operands.begin(), item.operands.end());
        plan.after.insert(plan.after.end(), item.after.begin(), item.after.end());
        plan.instructions.push_back(i);
      }
    }
    plan.finish();
    return plan;
  }

  // Removes a step; dependences on later steps of its lane move along, those on it are lost.
  void drop(size_t lane, size_t step) {
    lanes[lane].erase(lanes[lane].begin() + static_cast<std::ptrdiff_t>(step));
    uint32_t rank = frame.lanes[lane].rank, in_rank = frame.lane_in_rank(static_cast<uint32_t>(lane));
    for (size_t l = 0; l < lanes.size(); ++l) {
      if (frame.lanes[l].rank != rank) continue;
      for (Item& item : lanes[l]) {
        std::erase_if(item.after, [&](const After& a) { return a.lane == in_rank && a.step == step; });
        for (After& a : item.after)
          if (a.lane == in_rank && a.step > step) --a.step;
      }
    }
  }
};

class Mutator {
 public:
  Mutator(const Plan& plan, uint32_t seed) : loose_(plan), random_(seed) {}

  Plan mutate() {
    uint32_t times = 1 + below(2);
    for (uint32_t i = 0; i < times; ++i)
      while (!once()) {
      }
    return loose_.build();
  }

 private:
  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }

  bool once() {
    size_t lane = below(loose_.lanes.size());
    auto& items = loose_.lanes[lane];
    if (items.empty()) return false;
    size_t step = below(items.size());
    Loose::Item& item = items[step];
    switch (below(13)) {
      case 0:
        loose_.drop(lane, step);
        return true;
      case 1:  // swap with the next
        if (step + 1 == items.size()) return false;
        std::swap(items[step], items[step + 1]);
        return true;
      case 2:
        std::swap(item, items[below(items.size())]);
        return true;
      case 3: {  // another place
        if (item.operands.empty()) return false;
        Operand& o = item.operands[below(item.operands.size())];
        if (o.space == Space::kConnection) return false;
        o.place = below(2) ? o.place + 1 : (o.place > 0 ? o.place - 1 : o.place + 2);
        return true;
      }
      case 4: {  // another buffer
        if (item.operands.empty()) return false;
        Operand& o = item.operands[below(item.operands.size())];
        if (o.space == Space::kConnection) return false;
        o.buffer = static_cast<uint16_t>(below(3));
        return true;
      }
      case 5: {  // another peer or connection
        if (item.operands.empty()) return false;
        Operand& o = item.operands[below(item.operands.size())];
        if (o.space == Space::kPeer)
          o.rank = below(loose_.frame.ranks());
        else if (o.space == Space::kConnection)
          o.rank = below(loose_.frame.connections.size());
        else
          return false;
        return true;
      }
      case 6:  // a dependence lost
        if (item.after.empty()) return false;
        item.after.erase(item.after.begin() + below(item.after.size()));
        return true;
      case 7: {  // a dependence weakened
        if (item.after.empty()) return false;
        After& a = item.after[below(item.after.size())];
        if (a.step == 0) return false;
        --a.step;
        return true;
      }
      case 8:  // another counter or value
        if (item.instruction.op != Opcode::kWait && item.instruction.op != Opcode::kSignal) return false;
        if (below(2) && item.instruction.op == Opcode::kWait)
          item.instruction.value += below(2) ? 1 : -1;
        else
          item.instruction.counter = below(loose_.frame.counters.size());
        return true;
      case 9:
        item.instruction.first_part = below(loose_.frame.grids[0].parts);
        return true;
      case 10:
        item.instruction.length = 1 + below(3);
        return true;
      case 11: {  // a reduction becomes a copy of one operand, or the other way round
        if (item.instruction.op == Opcode::kReduce || item.instruction.op == Opcode::kRecvReduce) {
          if (item.instruction.source_count != 2) return false;
          item.operands.erase(item.operands.begin() + (item.instruction.op == Opcode::kReduce ? below(2) : 0));
          item.instruction.source_count = 1;
          item.instruction.op = item.instruction.op == Opcode::kReduce ? Opcode::kCopy : Opcode::kRecv;
          return true;
        }
        if (item.instruction.op == Opcode::kRecvReduceCopySend) {
          item.instruction.op = Opcode::kRecvReduceSend;
          item.operands.erase(item.operands.end() - 2);
          item.instruction.destination_count = 1;
          return true;
        }
        return false;
      }
      default: {  // one message less, at both ends
        const Operand* sent = nullptr;
        for (const Operand& o : item.operands)
          if (o.space == Space::kConnection) sent = &o;
        if (item.instruction.op != Opcode::kSend || sent == nullptr) return false;
        uint32_t connection = sent->rank;
        size_t nth = 0;
        for (size_t i = 0; i < step; ++i)
          if (items[i].instruction.op == Opcode::kSend && items[i].operands.back().rank == connection) ++nth;
        loose_.drop(lane, step);
        for (size_t l = 0; l < loose_.lanes.size(); ++l) {
          for (size_t s = 0; s < loose_.lanes[l].size(); ++s) {
            const Loose::Item& r = loose_.lanes[l][s];
            bool receives = r.instruction.op == Opcode::kRecv || r.instruction.op == Opcode::kRecvReduce;
            if (!receives || r.instruction.source_count == 0) continue;
            bool here = false;
            for (uint32_t k = 0; k < r.instruction.source_count; ++k)
              here |= r.operands[k].space == Space::kConnection && r.operands[k].rank == connection;
            if (here && nth-- == 0) {
              loose_.drop(l, s);
              return true;
            }
          }
        }
        return true;
      }
    }
  }

  Loose loose_;
  std::mt19937 random_;
};

// Runs an accepted mutant; empty if it was right everywhere.
std::string run_accepted(std::shared_ptr<const Plan> plan, uint32_t least_slots) {
  for (uint32_t slots : {1u, 2u, 8u}) {
    if (slots < least_slots) continue;
    for (uint64_t order = 1; order <= 20; ++order) {
      ExecutorOptions options;
      options.slots = slots;
      options.slot_bytes = 64;  // several tiles
      options.timeout = std::chrono::milliseconds(10000);
      options.order_seed = order;
      Executor executor(plan, options);
      bool floats = order % 2 == 0;
      CallSpec spec;
      spec.sizes.count = 3 + 17 * (order % 3) * plan->grids[0].parts;
      spec.sizes.dtype = floats ? DType::kF32 : DType::kI64;
      spec.slot_bytes = options.slot_bytes;
      bool inplace = plan->inplace && order % 4 >= 2;
      std::vector<testing::CallData> data;
      std::vector<std::vector<RankBuffers>> buffers;
      for (uint32_t call = 0; call < 3; ++call) {
        data.push_back(testing::make_call(*plan, spec, inplace, static_cast<uint32_t>(order * 10 + call)));
        buffers.push_back(data.back().buffers);
      }
      Status status = executor.run(spec, buffers, 3);
      if (!status.ok()) return fmt::format("k = {}, order {}: {}", slots, order, status.message());
      for (uint32_t call = 0; call < 3; ++call) {
        std::string wrong = testing::compare(*plan, spec, data[call]);
        if (!wrong.empty())
          return fmt::format("k = {}, order {}, call {}, {}: {}", slots, order, call,
                             inplace ? "in place" : "out of place", wrong);
      }
    }
  }
  return "";
}

TEST(Mutation, NoAcceptedMutantIsWrong) {
  const char* asked = std::getenv("COLLC_MUTANTS");
  uint32_t total = asked != nullptr ? static_cast<uint32_t>(std::atoi(asked)) : 10000;
  using T = LowerOptions::Transfers;
  std::vector<std::pair<std::string, Plan>> plans;
  for (const Subject& subject : kSubjects) {
    Diagnostics diagnostics;
    std::optional<Schedule> schedule = testing::library_schedule(subject.algorithm, subject.setting, diagnostics);
    ASSERT_TRUE(schedule) << subject.algorithm << ": " << diagnostics.render();
    for (T transfers : {T::kStaged, T::kPut, T::kGet}) {
      LowerOptions options;
      options.transfers = transfers;
      std::optional<Plan> plan = lower(*schedule, options, diagnostics);
      ASSERT_TRUE(plan) << subject.algorithm << ": " << diagnostics.render();
      VerifyResult verdict = verify(*plan);
      ASSERT_TRUE(verdict.ok()) << subject.algorithm << ": " << render(verdict) << print_plan(*plan);
      plans.emplace_back(fmt::format("{} {}", subject.algorithm, static_cast<int>(transfers)), std::move(*plan));
    }
  }
  uint32_t accepted = 0;
  std::map<std::string, uint32_t> faults;
  for (uint32_t n = 0; n < total; ++n) {
    const auto& [name, plan] = plans[n % plans.size()];
    auto mutant = std::make_shared<Plan>(Mutator(plan, n).mutate());
    VerifyResult verdict = verify(*mutant);
    ++faults[verdict.ok() ? "accepted" : coll::name(verdict.story.fault)];
    if (!verdict.ok()) {
      ASSERT_FALSE(verdict.story.lines.empty()) << "a refusal without a story: mutant " << n << " of " << name;
      continue;
    }
    ++accepted;
    std::string wrong = run_accepted(mutant, verdict.least_slots);
    ASSERT_EQ(wrong, "") << "accepted and wrong: mutant " << n << " of " << name << "\n" << print_plan(*mutant);
  }
  for (const auto& [fault, count] : faults) std::printf("  %-24s %u\n", fault.c_str(), count);
  EXPECT_GT(accepted, 0u) << "no mutant ran: the comparison was never made";
  EXPECT_LT(accepted, total / 2) << "the mutations change too little";
}

}  // namespace
}  // namespace coll
