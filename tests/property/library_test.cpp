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

bool hierarchical(const std::string& name) {
  return name.find("hierarchical") != std::string::npos || name == "twostep_alltoall" || name == "threestep_alltoall" ||
         name == "alltonext";
}

std::vector<Setting> settings(const std::string& name) {
  std::vector<Setting> list;
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    list.push_back({ranks, 1, ranks / 2, ranks - 1});
    if (!hierarchical(name)) continue;
    for (uint32_t nodes = 2; nodes <= 4; ++nodes)
      if (nodes <= ranks) list.push_back({ranks, nodes, 0, ranks - 1});
  }
  list.push_back({64, hierarchical(name) ? 8u : 1u, 5, 63});
  return list;
}

class Library : public ::testing::TestWithParam<const char*> {};

TEST_P(Library, IsProvedAndRunsRight) {
  std::string name = GetParam();
  uint32_t claimed = 0;
  for (const Setting& setting : settings(name)) {
    SCOPED_TRACE(fmt::format("{} on {} ranks, {} nodes, root {}", name, setting.ranks, setting.nodes, setting.root));
    Diagnostics diagnostics;
    std::optional<Schedule> schedule = testing::library_schedule(name, setting, diagnostics);
    if (!schedule) {
      ASSERT_EQ(diagnostics.error_count(), 1u) << diagnostics.render();
      ASSERT_STREQ(diagnostics.all()[0].id, "require_failed") << diagnostics.render();
      continue;
    }
    ++claimed;
    for (T transfers : {T::kStaged, T::kPut, T::kGet}) {
      if (setting.ranks == 64 && transfers != T::kStaged) continue;
      LowerOptions options;
      options.transfers = transfers;
      std::optional<Plan> plan = lower(*schedule, options, diagnostics);
      ASSERT_TRUE(plan) << diagnostics.render();
      VerifyResult verdict = verify(*plan);
      ASSERT_TRUE(verdict.ok()) << render(verdict);
      EXPECT_EQ(verdict.least_slots, plan->slots_needed);
      if (plan->contract.kind == ContractKind::kAllReduce) EXPECT_TRUE(verdict.bits_equal) << verdict.bits_note;

      auto shared = std::make_shared<const Plan>(std::move(*plan));
      ExecutorOptions executor_options;
      executor_options.slots = std::max(2u, verdict.least_slots);
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

std::vector<const char*> names() {
  std::vector<const char*> list;
  for (const LibraryFile& file : library()) list.push_back(file.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Library, ::testing::ValuesIn(names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
