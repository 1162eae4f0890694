// Random programs through the executor: in every lowering and in seeded lane orders they leave what the statements,
// done one after the other, leave, and the bits that the interpreter leaves on floats that round.
//
// passes_random_test asks the same of the interpreter alone, on fewer and smaller programs. Here lanes really wait for
// each other: a dependence, a slot or a signal that lowering forgot shows as a wrong element or as a time-out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "ir/arithmetic.h"
#include "ir/interpret.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "runtime/cpu/executor.h"
#include "tests/unit/random_schedule.h"

namespace coll {
namespace {

using T = LowerOptions::Transfers;

struct Way {
  const char* name;
  LowerOptions options;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> list = {
      {"by load", {}},
      {"by rank", {.by_load = false}},
      {"not fused", {.fuse = false}},
      {"channel per flow", {.channel_per_flow = true}},
      {"one slot", {.slots = 1}},
      {"two slots", {.slots = 2}},
      {"put", {.transfers = T::kPut}},
      {"get", {.transfers = T::kGet}},
      {"switch", {.switch_hardware = true}},
      {"switch and put", {.transfers = T::kPut, .switch_hardware = true}},
      {"switch and get", {.transfers = T::kGet, .switch_hardware = true}},
  };
  return list;
}

constexpr uint32_t kCalls = 2;
constexpr int64_t kUnwritten = -1;
constexpr uint64_t kSlotBytes = 32;  // a tile of a unit or two

template <class Element>
using Arrays = std::vector<std::vector<Element>>;

template <class Element>
std::vector<RankBuffers> buffers_of(const Arrays<Element>& in, Arrays<Element>& out) {
  std::vector<RankBuffers> list;
  for (size_t r = 0; r < in.size(); ++r) list.push_back({in[r].data(), out[r].data()});
  return list;
}

class Program {
 public:
  Program(uint32_t seed, uint32_t ranks, uint32_t parts, uint32_t statements)
      : seed_(seed),
        ranks_(ranks),
        schedule_(testing::random_schedule(seed, ranks, parts, statements)),
        count_(parts * 4 + seed % 5),  // parts of some units, of different lengths
        integers_(ranks),
        expected_(ranks, std::vector<int64_t>(2 * count_, kUnwritten)),
        floats_(ranks) {
    std::mt19937 random(seed);
    for (uint32_t r = 0; r < ranks; ++r) {
      for (uint64_t i = 0; i < 2 * count_; ++i) {
        integers_[r].push_back(static_cast<int64_t>((r + 1) * 1000003 + i * 7919));
        floats_[r].push_back(std::ldexp(static_cast<float>(random()), -32) - 0.5f);
      }
    }
    testing::run_in_order(schedule_, count_, integers_, expected_);
  }

  void check(const Way& way) const {
    Diagnostics diagnostics;
    std::optional<Plan> lowered = lower(schedule_, way.options, diagnostics);
    ASSERT_TRUE(lowered) << diagnostics.render();
    VerifyOptions options;
    options.slots = way.options.slots;
    VerifyResult verdict = verify(*lowered, options);
    ASSERT_TRUE(verdict.ok()) << render(verdict) << print_plan(*lowered);
    auto plan = std::make_shared<const Plan>(std::move(*lowered));

    CallSpec spec;
    spec.slot_bytes = kSlotBytes;
    spec.sizes.count = count_;
    ExecutorOptions executor_options;
    executor_options.slot_bytes = kSlotBytes;
    executor_options.slots = std::max(1u, seed_ % 2 ? verdict.least_slots : way.options.slots);
    executor_options.order_seed = 1 + seed_;
    Executor executor(plan, executor_options);
    auto run = [&](auto& in, auto& out) {
      std::vector<std::vector<RankBuffers>> buffers;
      for (auto& call : out) buffers.push_back(buffers_of(in, call));
      Status status = executor.run(spec, buffers, kCalls);
      ASSERT_TRUE(status.ok()) << status.message() << "\n" << print_plan(*plan);
    };

    spec.sizes.dtype = DType::kI64;
    std::vector<Arrays<int64_t>> out(kCalls, Arrays<int64_t>(ranks_, std::vector<int64_t>(2 * count_, kUnwritten)));
    ASSERT_NO_FATAL_FAILURE(run(integers_, out));
    // A place that no statement wrote is nobody's business: the lowering may complete it from `in`.
    for (const auto& call : out)
      for (uint32_t r = 0; r < ranks_; ++r)
        for (uint64_t i = 0; i < 2 * count_; ++i)
          if (expected_[r][i] != kUnwritten)
            ASSERT_EQ(call[r][i], expected_[r][i]) << "rank " << r << " element " << i << "\n" << print_plan(*plan);

    spec.sizes.dtype = DType::kF32;
    Arrays<float> poison(ranks_, std::vector<float>(2 * count_, 12345.0f)), reference = poison;
    std::vector<Arrays<float>> rounded(kCalls, poison);
    ASSERT_NO_FATAL_FAILURE(run(floats_, rounded));
    Status status = interpret(*plan, spec, buffers_of(floats_, reference));
    ASSERT_TRUE(status.ok()) << status.message();
    for (const auto& call : rounded)
      for (uint32_t r = 0; r < ranks_; ++r) {
        uint64_t first = 0;
        ASSERT_TRUE(equal_elements(DType::kF32, call[r].data(), reference[r].data(), 2 * count_, &first))
            << "rank " << r << " element " << first << " differs from the interpreter\n"
            << print_plan(*plan);
      }
  }

 private:
  uint32_t seed_, ranks_;
  Schedule schedule_;
  uint64_t count_;
  Arrays<int64_t> integers_, expected_;
  Arrays<float> floats_;
};

// In slices, which can be run side by side: most of the time is waiting, lanes being slowed down on purpose.
constexpr uint32_t kSlices = 4;
class RandomPrograms : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomPrograms, RunAsWritten) {
  const char* asked = std::getenv("COLLC_PROGRAMS");
  uint32_t total = asked != nullptr ? static_cast<uint32_t>(std::atoi(asked)) : 2000;
  for (uint32_t n = GetParam(); n < total; n += kSlices) {
    // Mostly small ones, in which an error is easily seen; some with many lanes and long chains.
    uint32_t seed = 5000 + n, ranks = 1 + n % 8, parts = 1 + n / 8 % 4,
             statements = n % 5 == 4 ? 20 + n % 41 : 1 + n % 12;
    Program program(seed, ranks, parts, statements);
    for (const Way& way : ways()) {
      SCOPED_TRACE(
          fmt::format("seed {} ranks {} parts {} statements {}: {}", seed, ranks, parts, statements, way.name));
      ASSERT_NO_FATAL_FAILURE(program.check(way));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, RandomPrograms, ::testing::Range(0u, kSlices));

}  // namespace
}  // namespace coll
