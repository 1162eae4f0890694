// Random programs, lowered in every way, mean what they say: the Plan computes what the statements compute one after
// the other, and the verifier finds no race, no deadlock and nothing unwritten in it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "random_schedule.h"

namespace coll {
namespace {

struct Way {
  const char* name;
  LowerOptions options;
};

std::vector<Way> ways() {
  using T = LowerOptions::Transfers;
  std::vector<Way> list;
  list.push_back({"by load", {}});
  list.push_back({"by rank", {.by_load = false}});
  list.push_back({"not fused", {.fuse = false}});
  list.push_back({"channel per flow", {.channel_per_flow = true}});
  list.push_back({"one slot", {.slots = 1}});
  list.push_back({"two slots", {.slots = 2}});
  list.push_back({"put", {.transfers = T::kPut}});
  list.push_back({"get", {.transfers = T::kGet}});
  list.push_back({"switch", {.switch_hardware = true}});
  list.push_back({"switch and put", {.transfers = T::kPut, .switch_hardware = true}});
  list.push_back({"switch and get", {.transfers = T::kGet, .switch_hardware = true}});
  return list;
}

constexpr int64_t kUnwritten = -1;

void check(uint32_t seed, uint32_t ranks, uint32_t parts, uint32_t statements) {
  Schedule s = testing::random_schedule(seed, ranks, parts, statements);
  uint64_t count = parts * 2 + seed % 3;  // 16-byte units of two elements; sometimes a part is longer or empty
  std::vector<std::vector<int64_t>> in(ranks), expected(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    for (uint64_t i = 0; i < 2 * count; ++i) in[r].push_back(static_cast<int64_t>((r + 1) * 1000003 + i * 7919));
    expected[r].assign(2 * count, kUnwritten);
  }
  testing::run_in_order(s, count, in, expected);
  for (const Way& way : ways()) {
    SCOPED_TRACE(fmt::format("seed {} ranks {} parts {} statements {}: {}", seed, ranks, parts, statements, way.name));
    Diagnostics diagnostics;
    std::optional<Plan> plan = lower(s, way.options, diagnostics);
    ASSERT_TRUE(plan) << diagnostics.render();
    VerifyOptions verify_options;
    verify_options.slots = way.options.slots;
    VerifyResult verdict = verify(*plan, verify_options);
    ASSERT_TRUE(verdict.ok()) << render(verdict) << print_plan(*plan);
    std::vector<std::vector<int64_t>> out(ranks, std::vector<int64_t>(2 * count, -1));
    std::vector<RankBuffers> buffers;
    for (uint32_t r = 0; r < ranks; ++r) buffers.push_back({in[r].data(), out[r].data()});
    CallSpec call;
    call.sizes.count = count;
    call.sizes.dtype = DType::kI64;
    ASSERT_TRUE(interpret(*plan, call, buffers).ok());
    // A place that no statement wrote is nobody's business: the lowering may complete it from `in`.
    for (uint32_t r = 0; r < ranks; ++r)
      for (uint64_t i = 0; i < 2 * count; ++i)
        if (expected[r][i] != kUnwritten)
          ASSERT_EQ(out[r][i], expected[r][i]) << "rank " << r << " element " << i << "\n" << print_plan(*plan);
  }
}

TEST(Random, SmallProgramsMeanWhatTheySay) {
  for (uint32_t seed = 0; seed < 300; ++seed) check(seed, 1 + seed % 4, 1 + seed % 3, 1 + seed % 8);
}

TEST(Random, LongerProgramsMeanWhatTheySay) {
  for (uint32_t seed = 1000; seed < 1060; ++seed) check(seed, 2 + seed % 6, 1 + seed % 4, 20 + seed % 60);
}

}  // namespace
}  // namespace coll
