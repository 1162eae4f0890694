// Calls that do not fit their plan are refused before anything runs.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "dsl/frontend.h"
#include "ir/interpret.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "runtime/cpu/executor.h"

namespace coll {
namespace {

std::shared_ptr<const Plan> plan_of(const std::string& text, uint32_t ranks) {
  SourceFile file("test.coll", text);
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> ast = parse(file, diagnostics);
  ElaborateOptions options;
  options.ranks = ranks;
  std::optional<Schedule> schedule;
  if (ast != nullptr) schedule = elaborate(*ast, options, diagnostics);
  EXPECT_TRUE(schedule) << diagnostics.render();
  std::optional<Plan> plan = lower(*schedule, {}, diagnostics);
  EXPECT_TRUE(plan) << diagnostics.render();
  EXPECT_TRUE(verify(*plan).ok()) << render(verify(*plan));
  return std::make_shared<const Plan>(*plan);
}

std::string library_text(const std::string& name) {
  for (const LibraryFile& file : library())
    if (name == file.name) return file.text;
  return "";
}

struct Buffers {
  std::vector<std::vector<float>> in, out;
  std::vector<RankBuffers> ranks;
  Buffers(uint32_t n, size_t in_elements, size_t out_elements) : in(n), out(n) {
    for (uint32_t r = 0; r < n; ++r) {
      in[r].assign(in_elements, 1);
      out[r].assign(out_elements, -1);
      ranks.push_back({in[r].data(), out[r].data()});
    }
  }
};

// Rank r's result is the sum over ranks 0 to r, and is summed further by rank r + 1.
const char* const kScan = R"(
collective scan { 
  chunks in 1, out 1
  ensure out[0][0] == in[0][0]
  ensure out[1][0] == reduce(in[0][0], in[1][0])
  ensure out[2][0] == reduce(in[0][0], in[1][0], in[2][0])
}
algorithm chain implements scan {
  for r in 1 ..< ranks { buf[r][0] += buf[r - 1][0] }
}
)";

TEST(Call, AverageOfPartialSumsThatAreSummedOnIsRefused) {
  auto plan = plan_of(kScan, 3);
  Buffers b(3, 4, 4);
  CallSpec spec;
  spec.sizes.count = 4;
  Executor executor(plan, {});
  EXPECT_TRUE(executor.run(spec, {b.ranks}).ok());
  EXPECT_EQ(b.out[2][0], 3);
  spec.op = RedOp::kAvg;
  Status status = executor.run(spec, {b.ranks});
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("no avg"), std::string::npos) << status.message();
  EXPECT_EQ(interpret(*plan, spec, b.ranks).code(), StatusCode::kInvalid);
  spec.op = RedOp::kMax;  // the executor is still good
  EXPECT_TRUE(executor.run(spec, {b.ranks}).ok());
}

TEST(Call, OverlappingBuffersMustLieAsTheContractSays) {
  CallSpec spec;
  spec.sizes.count = 4;
  auto scatter = plan_of(library_text("ring_reduce_scatter"), 2);
  ASSERT_TRUE(scatter->inplace);
  Executor executor(scatter, {});
  Buffers b(2, 8, 4);
  std::vector<RankBuffers> right{{b.in[0].data(), b.in[0].data()}, {b.in[1].data(), b.in[1].data() + 4}};
  std::vector<RankBuffers> wrong{{b.in[0].data(), b.in[0].data()}, {b.in[1].data(), b.in[1].data()}};
  Status status = executor.run(spec, {wrong});
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.message();
  ASSERT_TRUE(executor.run(spec, {right}).ok());
  EXPECT_EQ(b.in[1][4], 2);

  auto not_in_place =
      plan_of("algorithm each implements allreduce { for r in 0 ..< ranks { out[r][0] = reduce(in[all][0]) } }", 2);
  ASSERT_FALSE(not_in_place->inplace);
  Executor other(not_in_place, {});
  std::vector<RankBuffers> same{{b.in[0].data(), b.in[0].data()}, {b.in[1].data(), b.in[1].data()}};
  EXPECT_EQ(other.run(spec, {same}).code(), StatusCode::kInvalid);
}

TEST(Call, ATableOfCountsIsForAllToAllVOnly) {
  auto plan = plan_of(library_text("bruck_alltoall"), 3);
  Buffers b(3, 12, 12);
  CallSpec spec;
  spec.sizes.count = 4;
  spec.sizes.counts = {100};
  Executor executor(plan, {});
  EXPECT_EQ(executor.run(spec, {b.ranks}).code(), StatusCode::kInvalid);
  EXPECT_EQ(interpret(*plan, spec, b.ranks).code(), StatusCode::kInvalid);
}

TEST(Call, WaitingForEverDoesNotOverflow) {
  auto plan = plan_of(library_text("ring"), 3);
  Buffers b(3, 100, 100);
  CallSpec spec;
  spec.sizes.count = 100;
  ExecutorOptions options;
  options.timeout = std::chrono::milliseconds::max();
  Executor executor(plan, options);
  EXPECT_TRUE(executor.run(spec, {b.ranks}).ok());
  EXPECT_EQ(b.out[1][99], 3);
}

TEST(Call, ResultsWrittenRoundTheCachesAreRight) {
  // Buffers of 12 MiB a rank: what nobody reads soon is stored around the caches.
  auto plan = plan_of(library_text("ring"), 3);
  size_t count = (3 << 20) / 2 + 5;
  Buffers b(3, count, count);
  for (uint32_t r = 0; r < 3; ++r)
    for (size_t i = 0; i < count; ++i) b.in[r][i] = static_cast<float>((i * 7 + r) % 1000);
  CallSpec spec;
  spec.sizes.count = count;
  Executor executor(plan, {});
  ASSERT_TRUE(executor.run(spec, {b.ranks}).ok());
  for (size_t i = 0; i < count; ++i) {
    float want = b.in[0][i] + b.in[1][i] + b.in[2][i];
    for (uint32_t r = 0; r < 3; ++r) ASSERT_EQ(b.out[r][i], want) << "rank " << r << " element " << i;
  }
}

}  // namespace
}  // namespace coll
