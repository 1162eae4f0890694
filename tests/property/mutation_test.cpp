// Mutated plans: whatever the verifier accepts must run right.
//
// Verified plans of the library, staged, direct and in the switch, with one instance and with two, are damaged at
// random (plan_mutator.h says how), given a new witness order, and judged. A mutant that the verifier refuses is done
// with. One that it accepts (it computes the same in another way) is run: by the interpreter, and by the executor with
// 20 seeded lane orders, with every k in 1, 2, 8 with which it should run, three calls in a row, on integers that wrap
// and on floats whose sums are exact, in place where that is offered.
//
// Mutants with the same text are one mutant; only different ones count. A plan without connections has no slots, so
// that the three k are one.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>
#include <unordered_set>

#include "ir/verify_witness.h"
#include "library_plans.h"
#include "plan_mutator.h"

namespace coll {
namespace {

using testing::Mutator;
using testing::Setting;
using T = LowerOptions::Transfers;

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
    {"tree", {5, 1, 0, 0, {{"pieces", 2}}}},
    {"double_tree", {4, 1, 0, 0, {{"pieces", 2}}}},
    {"direct", {4}},
    {"recursive_doubling", {4}},
    {"halving_doubling", {5}},
    {"bruck_allgather", {5}},
    {"bruck_alltoall", {4}},
    {"binomial_broadcast", {5, 1, 2}},
    {"binomial_reduce", {5, 1, 1}},
    {"binomial_gather", {4}},
    {"binomial_scatter", {4, 1, 3}},
    {"ring_allgather", {4}},
    {"ring_reduce_scatter", {4}},
    {"pat_allgather", {4}},
    {"chain_broadcast", {3, 1, 0, 0, {{"pieces", 3}}}},
    {"hierarchical", {4, 2}},
    {"swing", {4}},
    {"direct_alltoall", {3}},
    {"parameter_server", {4}},
    {"bidirectional_ring", {3}},
};

struct Original {
  std::string name;
  Plan plan;
};

void add(std::vector<Original>& list, const Subject& subject, LowerOptions options, uint32_t instances = 1) {
  Diagnostics diagnostics;
  std::optional<Schedule> schedule = testing::library_schedule(subject.algorithm, subject.setting, diagnostics);
  ASSERT_TRUE(schedule) << subject.algorithm << ": " << diagnostics.render();
  schedule->instances = instances;
  std::optional<Plan> plan = lower(*schedule, options, diagnostics);
  ASSERT_TRUE(plan) << subject.algorithm << ": " << diagnostics.render();
  VerifyResult verdict = verify(*plan);
  ASSERT_TRUE(verdict.ok()) << subject.algorithm << ": " << render(verdict) << print_plan(*plan);
  if (options.switch_hardware) ASSERT_TRUE(plan->has_groups());
  const char* transfers[] = {"staged", "put", "get"};
  list.push_back({fmt::format("{} on {}, {}{}{}", subject.algorithm, subject.setting.ranks,
                              transfers[static_cast<int>(options.transfers)],
                              options.switch_hardware ? ", in the switch" : "", instances > 1 ? ", instances 2" : ""),
                  std::move(*plan)});
}

std::vector<Original> originals() {
  std::vector<Original> list;
  for (T transfers : {T::kStaged, T::kPut, T::kGet}) {
    LowerOptions options;
    options.transfers = transfers;
    for (const Subject& subject : kSubjects) add(list, subject, options);
    add(list, {"ring", {3}}, options, 2);
    add(list, {"tree", {4, 1, 0, 0, {{"pieces", 1}}}}, options, 2);
    options.switch_hardware = true;
    add(list, {"in_switch", {2}}, options);
    add(list, {"in_switch", {3}}, options);
    add(list, {"in_switch", {3}}, options, 2);
  }
  LowerOptions plain;
  plain.fuse = false;
  add(list, {"ring", {4}}, plain);
  return list;
}

// The calls of one lane order: data, and what the contract makes of it.
struct Calls {
  static constexpr uint32_t kCalls = 3;
  CallSpec spec;
  bool inplace = false;
  std::vector<testing::CallData> data;

  Calls(const Plan& plan, uint64_t order, uint64_t slot_bytes) {
    spec.sizes.count = 3 + 17 * (order % 3) * plan.grids[0].parts;
    spec.sizes.dtype = order % 2 == 0 ? DType::kF32 : DType::kI64;
    spec.slot_bytes = slot_bytes;
    inplace = plan.inplace && order % 4 >= 2;
    for (uint32_t call = 0; call < kCalls; ++call)
      data.push_back(testing::make_call(plan, spec, inplace, static_cast<uint32_t>(order * 10 + call)));
  }
};

constexpr uint64_t kSlotBytes = 64;  // several tiles

// Empty if every call gave what the contract says.
std::string judge(const Plan& plan, const Calls& calls, const std::string& by) {
  for (uint32_t call = 0; call < calls.data.size(); ++call) {
    std::string wrong = testing::compare(plan, calls.spec, calls.data[call]);
    if (!wrong.empty())
      return fmt::format("{}, call {}, {}, {} of {}: {}", by, call, calls.inplace ? "in place" : "out of place",
                         calls.spec.sizes.count, name(calls.spec.sizes.dtype), wrong);
  }
  return "";
}

// These run a mutant; empty if it was right everywhere.
std::string interpret_mutant(const Plan& plan) {
  for (uint64_t order : {1, 2, 3, 6}) {  // each type, out of place and in place
    Calls calls(plan, order, kSlotBytes);
    for (const testing::CallData& data : calls.data) {
      Status status = interpret(plan, calls.spec, data.buffers);
      if (!status.ok()) return "interpreter: " + status.message();
    }
    std::string wrong = judge(plan, calls, "interpreter");
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string execute_mutant(std::shared_ptr<const Plan> plan, uint32_t least_slots) {
  for (uint32_t slots : {1u, 2u, 8u}) {
    if (slots < least_slots || (slots != 8 && plan->connections.empty())) continue;
    for (uint64_t order = 1; order <= 20; ++order) {
      ExecutorOptions options;
      options.slots = slots;
      options.slot_bytes = kSlotBytes;
      options.timeout = std::chrono::milliseconds(10000);
      options.order_seed = order;
      Executor executor(plan, options);
      Calls calls(*plan, order, kSlotBytes);
      std::vector<std::vector<RankBuffers>> buffers;
      for (const testing::CallData& data : calls.data) buffers.push_back(data.buffers);
      std::string by = fmt::format("k = {}, order {}", slots, order);
      Status status = executor.run(calls.spec, buffers, Calls::kCalls);
      if (!status.ok()) return by + ": " + status.message();
      std::string wrong = judge(*plan, calls, by);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

std::string kinds_of(const Mutator& mutator) {
  std::string text;
  for (size_t kind : mutator.kinds()) text += fmt::format("{}{}", text.empty() ? "" : ", ", Mutator::kind_name(kind));
  return text;
}

// In every order of the lanes.
bool computes_wrong(Fault fault) {
  return fault == Fault::kWrong || fault == Fault::kMissing || fault == Fault::kDuplicated;
}

TEST(Mutation, NoAcceptedMutantIsWrong) {
  const char* asked = std::getenv("COLLC_MUTANTS");
  uint32_t total = asked != nullptr ? static_cast<uint32_t>(std::atoi(asked)) : 10000;
  std::vector<Original> plans = originals();
  ASSERT_FALSE(HasFailure());
  std::unordered_set<std::string> seen;
  for (const Original& original : plans) {
    Plan same = original.plan;
    ASSERT_TRUE(assign_witness(same)) << original.name;
    seen.insert(print_plan(same));
  }

  struct Accepted {
    std::shared_ptr<const Plan> plan;
    uint32_t least_slots;
    std::string what;
  };
  std::vector<Accepted> accepted;
  std::map<std::string, uint32_t> faults;
  std::vector<std::array<uint32_t, 2>> of_kind(Mutator::kind_count());  // refused, accepted
  constexpr uint32_t kControls = 40;
  uint32_t seed = 0, wrong_seen = 0, races_seen = 0, races_shown = 0;
  for (uint32_t judged = 0; judged < total; ++seed) {
    ASSERT_LT(seed, total * 4) << "too few different mutants";
    const auto& [name, plan] = plans[seed % plans.size()];
    Mutator mutator(plan, seed);
    auto mutant = std::make_shared<Plan>(mutator.mutate());
    assign_witness(*mutant);  // one that cannot run at all keeps its order
    if (!seen.insert(print_plan(*mutant)).second) continue;
    ++judged;
    VerifyOptions exact, fingerprint;
    exact.contents = VerifyOptions::Contents::kExact;
    fingerprint.contents = VerifyOptions::Contents::kFingerprint;
    VerifyResult verdict = verify(*mutant, exact), large = verify(*mutant, fingerprint);
    ++faults[verdict.ok() ? "accepted" : coll::name(verdict.story.fault)];
    for (size_t kind : mutator.kinds()) ++of_kind[kind][verdict.ok()];
    std::string what = fmt::format("mutant {} of {} ({})", seed, name, kinds_of(mutator));
    ASSERT_EQ(verdict.story.fault, large.story.fault) << what << "\n" << render(verdict) << render(large);
    ASSERT_EQ(verdict.bits_equal, large.bits_equal) << what << "\n" << print_plan(*mutant);
    if (!verdict.ok()) ASSERT_FALSE(verdict.story.lines.empty()) << "a refusal without a story: " << what;
    if (verdict.ok()) accepted.push_back({mutant, verdict.least_slots, what});
    // The comparison itself is put to the proof: what is refused for what it computes must show when it is run, and of
    // the races some.
    if (computes_wrong(verdict.story.fault) && wrong_seen < kControls) {
      ++wrong_seen;
      EXPECT_NE(interpret_mutant(*mutant), "") << what << "\n" << render(verdict);
      EXPECT_NE(execute_mutant(mutant, 8), "") << what << "\n" << render(verdict);
    }
    if (verdict.story.fault == Fault::kRace && races_seen < kControls) {
      ++races_seen;
      races_shown += !execute_mutant(mutant, 8).empty();
    }
  }

  // Running is mostly waiting, lanes being slowed down on purpose: some mutants at a time.
  constexpr int kAtATime = 3;
  std::vector<std::string> wrong(accepted.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> runners;
  for (int i = 0; i < kAtATime; ++i) {
    runners.emplace_back([&] {
      for (size_t n = next++; n < accepted.size() && !failed; n = next++) {
        wrong[n] = interpret_mutant(*accepted[n].plan);
        if (wrong[n].empty()) wrong[n] = execute_mutant(accepted[n].plan, accepted[n].least_slots);
        if (!wrong[n].empty()) failed = true;
      }
    });
  }
  for (std::thread& runner : runners) runner.join();
  for (size_t n = 0; n < accepted.size(); ++n)
    EXPECT_EQ(wrong[n], "") << "accepted and wrong: " << accepted[n].what << "\n" << print_plan(*accepted[n].plan);

  for (const auto& [fault, count] : faults) std::printf("  %-24s %u\n", fault.c_str(), count);
  std::printf("  %-24s %8s %8s\n", "mutation", "refused", "accepted");
  for (size_t kind = 0; kind < of_kind.size(); ++kind) {
    std::printf("  %-24s %8u %8u\n", Mutator::kind_name(kind), of_kind[kind][0], of_kind[kind][1]);
    if (total >= 2000)
      EXPECT_GT(of_kind[kind][0] + of_kind[kind][1], 0u) << Mutator::kind_name(kind) << " was never done";
  }
  std::printf("  of %u races %u showed in the executor\n", races_seen, races_shown);
  EXPECT_GE(races_shown, races_seen / 4) << "the lane orders are too tame";
  EXPECT_GT(wrong_seen, 0u) << "no mutant computes something wrong";
  EXPECT_GT(accepted.size(), total / 50) << "hardly a mutant ran: the comparison was hardly made";
  EXPECT_LT(accepted.size(), total / 2) << "the mutations change too little";
}

}  // namespace
}  // namespace coll
