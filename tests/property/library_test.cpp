// Every algorithm of the library, for every number of ranks that it claims: compiled in every way, proved, run.
//
// Rank counts that an algorithm does not take must be refused by a `require` with a sentence.
#include <gtest/gtest.h>

#include <cstring>

#include "library_plans.h"

namespace coll {
namespace {

using testing::Setting;
using T = LowerOptions::Transfers;

struct Way {
  const char* name;
  LowerOptions options;
};

// Slots are the target's, for which fusions are undone; a world this large is compiled in the plain way only.
std::vector<Way> ways(const Setting& setting, const Schedule& schedule) {
  std::vector<Way> list = {{"staged", {}}};
  if (setting.ranks == 64) return list;
  list.push_back({"put", {.transfers = T::kPut}});
  list.push_back({"get", {.transfers = T::kGet}});
  if (setting.ranks <= 9) list.push_back({"one slot", {.slots = 1}});
  if (testing::uses_all_ranks(schedule)) {
    list.push_back({"switch", {.switch_hardware = true}});
    list.push_back({"switch and put", {.transfers = T::kPut, .switch_hardware = true}});
    list.push_back({"switch and get", {.transfers = T::kGet, .switch_hardware = true}});
  }
  return list;
}

std::vector<Setting> settings(const std::string& name) {
  std::vector<Setting> list;
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    list.push_back({ranks, 1, ranks / 2, ranks - 1});
    if (!testing::hierarchical(name)) continue;
    for (uint32_t nodes = 2; nodes <= 4; ++nodes)
      if (nodes <= ranks) list.push_back({ranks, nodes, 0, ranks - 1});
  }
  for (const std::string& parameter : testing::library_parameters(name))
    for (uint32_t ranks = 1; ranks <= 9; ++ranks)
      for (int64_t value = 1; value <= 3; ++value) list.push_back({ranks, 1, 0, ranks - 1, {{parameter, value}}});
  list.push_back({64, testing::hierarchical(name) ? 8u : 1u, 5, 63});
  return list;
}

class Library : public ::testing::TestWithParam<const char*> {};

TEST_P(Library, IsProvedAndRunsRight) {
  std::string name = GetParam();
  uint32_t claimed = 0;
  for (const Setting& setting : settings(name)) {
    SCOPED_TRACE(fmt::format("{} on {} ranks, {} nodes, root {}", name, setting.ranks, setting.nodes, setting.root));
    std::string parameters;
    for (const auto& [parameter, value] : setting.parameters) parameters += fmt::format("{} = {} ", parameter, value);
    SCOPED_TRACE(parameters);
    Diagnostics diagnostics;
    std::optional<Schedule> schedule = testing::library_schedule(name, setting, diagnostics);
    if (!schedule) {
      ASSERT_EQ(diagnostics.error_count(), 1u) << diagnostics.render();
      ASSERT_STREQ(diagnostics.all()[0].id, "require_failed") << diagnostics.render();
      continue;
    }
    ++claimed;
    for (const Way& way : ways(setting, *schedule)) {
      SCOPED_TRACE(way.name);
      std::optional<Plan> plan = lower(*schedule, way.options, diagnostics);
      ASSERT_TRUE(plan) << diagnostics.render();
      ASSERT_EQ(plan->has_groups(), way.options.switch_hardware && setting.ranks > 1);
      VerifyOptions verify_options;
      verify_options.slots = way.options.slots;
      VerifyResult verdict = verify(*plan, verify_options);
      ASSERT_TRUE(verdict.ok()) << render(verdict);
      EXPECT_EQ(verdict.least_slots, plan->slots_needed);
      if (plan->contract.kind == ContractKind::kAllReduce) EXPECT_TRUE(verdict.bits_equal) << verdict.bits_note;

      auto shared = std::make_shared<const Plan>(std::move(*plan));
      ExecutorOptions executor_options;
      executor_options.slots = std::min(way.options.slots, std::max(2u, verdict.least_slots));
      executor_options.slot_bytes = 256;
      Executor executor(shared, executor_options);
      for (bool inplace : {false, true}) {
        if (inplace && !shared->inplace) continue;
        CallSpec spec;
        spec.slot_bytes = executor_options.slot_bytes;
        spec.sizes.dtype = setting.ranks % 2 ? DType::kI64 : DType::kF32;
        for (uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{211}}) {
          if (shared->contract.kind == ContractKind::kBarrier) count = 1;
          spec.sizes.count = count;
          if (shared->contract.kind == ContractKind::kAllToAllV) {
            spec.sizes.counts.clear();
            for (uint32_t i = 0; i < setting.ranks * setting.ranks; ++i)
              spec.sizes.counts.push_back((i * 7 + count) % 23);
          }
          testing::CallData data = testing::make_call(*shared, spec, inplace, 17);
          Status status = executor.run(spec, {data.buffers});
          ASSERT_TRUE(status.ok()) << status.message();
          ASSERT_EQ(testing::compare(*shared, spec, data), "") << "count " << count << (inplace ? " in place" : "");
        }
      }
    }
  }
  EXPECT_GT(claimed, 0u) << "the algorithm refuses every setting";
}

INSTANTIATE_TEST_SUITE_P(All, Library, ::testing::ValuesIn(testing::library_names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
