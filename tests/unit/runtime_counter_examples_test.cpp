// Small cases that a back end gets wrong first, through the reference interpreter and the executor: sums fused or
// contracted where the bits change, factors of premul that differ between ranks, blocks of a few elements.
// (tests/unit/README.md lists all such cases and where each is tested.)
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "dsl/frontend.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "runtime/cpu/executor.h"
#include "tests/unit/hand_plans.h"

namespace coll {
namespace {

using namespace hand;

// Runs one call in the interpreter and in the executor; both results, after checking that they are the same bits and as
// near to the contract's definition as it asks. What they say about premul and peers is the caller's to check.
World run_both(const Plan& plan, const CallSpec& spec, bool in_place, uint64_t seed) {
  World expected(plan, spec.sizes, in_place, seed), world(plan, spec.sizes, in_place, seed);
  Status status = interpret(plan, spec, expected.buffers());
  EXPECT_TRUE(status.ok()) << status.message();
  ExecutorOptions options;
  options.slot_bytes = spec.slot_bytes;
  Executor executor(std::make_shared<const Plan>(plan), options);
  status = executor.run(spec, {world.buffers()});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(world.same_out(expected)) << plan.name << ": the executor is not the interpreter";

  uint32_t bytes = size_bytes(spec.sizes.dtype);
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    uint64_t elements = world.out_elements(r);
    std::vector<unsigned char> want(elements * bytes + 1);
    std::vector<double> bound;
    std::memcpy(want.data(), world.out(r), elements * bytes);  // places that nothing is promised about
    status = contract_result(plan.contract, spec, r, world.inputs(), want.data(), &bound);
    EXPECT_TRUE(status.ok()) << status.message();
    for (uint64_t e = 0; e < elements; ++e) {
      const unsigned char* got = static_cast<const unsigned char*>(world.out(r)) + e * bytes;
      if (equal_elements(spec.sizes.dtype, got, &want[e * bytes], 1)) continue;
      double off =
          std::fabs(load_as_double(spec.sizes.dtype, got) - load_as_double(spec.sizes.dtype, &want[e * bytes]));
      EXPECT_LE(off, bound[e]) << plan.name << " rank " << r << " element " << e;
    }
  }
  return world;
}

// A program of the text; empty diagnostics expected.
Plan compiled(const std::string& text, uint32_t ranks, LowerOptions::Transfers transfers,
              std::map<std::string, int64_t> parameters = {}) {
  static std::vector<std::unique_ptr<SourceFile>> files;
  files.push_back(std::make_unique<SourceFile>("case.coll", text));
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> ast = parse(*files.back(), diagnostics);
  ElaborateOptions options;
  options.ranks = ranks;
  options.machine = MachineView::uniform(ranks, 1);
  options.parameters = std::move(parameters);
  std::optional<Schedule> schedule;
  if (ast != nullptr) schedule = elaborate(*ast, options, diagnostics);
  EXPECT_TRUE(schedule) << diagnostics.render();
  LowerOptions lowering;
  lowering.transfers = transfers;
  std::optional<Plan> plan = lower(*schedule, lowering, diagnostics);
  EXPECT_TRUE(plan) << diagnostics.render();
  VerifyResult verdict = verify(*plan);
  EXPECT_TRUE(verdict.ok()) << render(verdict);
  return *plan;
}

// f16 is rounded once per instruction. Eight inputs added one by one are rounded seven times, in one reduction once: so
// a plan with the additions fused has other bits, and it is the plan's interpretation that a back end is held to.
TEST(CounterExamples, FusedAdditionsHaveOtherBits) {
  auto build = [](bool fused) {
    constexpr uint32_t n = 8;
    Builder b(fused ? "fused" : "pairwise", ContractKind::kReduce, n);
    b.plan().scratch_places.assign(n, n);
    std::vector<Operand> all{in(0)};
    for (uint32_t r = 1; r < n; ++r) {
      b.add(r, 0, Opcode::kSend, {in(0)}, {message(b.connect(r, 0))});
      b.add(0, 0, Opcode::kRecv, {message(b.connect(r, 0))}, {scratch(r)});
      all.push_back(scratch(r));
    }
    if (fused) b.add(0, 0, Opcode::kReduce, all, {out(0)});
    for (uint32_t r = 1; !fused && r < n; ++r)
      b.add(0, 0, Opcode::kReduce, {r == 1 ? in(0) : out(0), scratch(r)}, {out(0)});
    return b.finish();
  };
  Plan fused = build(true), pairwise = build(false);
  EXPECT_TRUE(verify(fused).ok() && verify(pairwise).ok());
  constexpr uint64_t kCount = 1000;
  CallSpec spec = spec_of(fused, DType::kF16, RedOp::kSum, kCount, 256);
  World a = run_both(fused, spec, false, 5), b = run_both(pairwise, spec, false, 5);
  uint64_t differ = 0;
  for (uint64_t e = 0; e < kCount; ++e)
    differ +=
        std::memcmp(static_cast<const char*>(a.out(0)) + 2 * e, static_cast<const char*>(b.out(0)) + 2 * e, 2) != 0;
  EXPECT_GT(differ, kCount / 20) << "the inputs do not tell the two apart";
}

// premul and then a sum is a * b + c: two roundings, of the product and of the sum. Contracted to one fused
// multiply-add, as compilers like to, it has other bits.
TEST(CounterExamples, MultiplyAndAddAreNotContracted) {
  Plan plan = plain_ring(2);
  constexpr uint64_t kCount = 1000;
  CallSpec spec = spec_of(plan, DType::kF32, RedOp::kPremul, kCount, 256);
  spec.premul = {1.0 / 3, 0.7};
  World world = run_both(plan, spec, false, 11);
  std::vector<const void*> inputs = world.inputs();
  const auto *x = static_cast<const float*>(inputs[0]), *y = static_cast<const float*>(inputs[1]);
  const auto* sum = static_cast<const float*>(world.out(0));
  uint64_t contracted = 0;
  for (uint64_t e = 0; e < kCount; ++e) {
    auto f = static_cast<float>(spec.premul[0]), g = static_cast<float>(spec.premul[1]);
    volatile float p = x[e] * f, q = y[e] * g;  // each product rounded to f32
    volatile float by_hand = p + q;
    float result = by_hand;
    ASSERT_TRUE(equal_elements(DType::kF32, &sum[e], &result, 1)) << "element " << e;
    contracted += std::fma(x[e], f, static_cast<float>(q)) != result;
  }
  EXPECT_GT(contracted, kCount / 20) << "the inputs would not show a contraction";
}

// Peers that read raw `in` scale it by its owner's factor, not by their own. Factors are powers of two, so a wrong one
// is off by more than any rounding.
TEST(CounterExamples, PremulScalesByTheFactorOfTheOwner) {
  std::string ring;
  for (const LibraryFile& file : library())
    if (std::string(file.name) == "ring") ring = file.text;
  constexpr uint32_t n = 3;
  std::vector<Plan> plans{direct_all_reduce(n), compiled(ring, n, LowerOptions::Transfers::kGet),
                          compiled(ring, n, LowerOptions::Transfers::kPut),
                          compiled(ring, n, LowerOptions::Transfers::kStaged)};
  for (size_t p = 0; p < plans.size(); ++p) {
    VerifyResult verdict = verify(plans[p]);
    EXPECT_TRUE(verdict.ok()) << render(verdict);
    EXPECT_EQ(verdict.peers_read_in, p < 2) << plans[p].name;
    for (DType type : {DType::kF32, DType::kF16}) {
      CallSpec spec = spec_of(plans[p], type, RedOp::kPremul, 37, 64);
      spec.premul = {1, 0.25, 8};
      run_both(plans[p], spec, false, 3);
      if (plans[p].inplace) run_both(plans[p], spec, true, 3);
    }
  }
}

// Every block of a call has the same count, so the two edges of a halo are equally long for any count; it is the parts
// of one block that differ, and an algorithm that cuts blocks moves each part to the same part.
TEST(CounterExamples, HaloOfThreeElements) {
  const std::string promise =
      "collective halo(width) {\n"
      "  chunks in width * 2, out width * 2\n"
      "  ensure out[r][0 ..< width] == in[r - 1][width ..< 2 * width]\n"
      "  ensure out[r][width ..< 2 * width] == in[r + 1][0 ..< width]\n"
      "}\n";
  for (const char* algorithm : {"algorithm whole(width = 1) implements halo(width) {\n"
                                "  for r in 0 ..< ranks {\n"
                                "    out[r][0 ..< width] = in[r - 1][width ..< 2 * width]\n"
                                "    out[r][width ..< 2 * width] = in[r + 1][0 ..< width]\n"
                                "  }\n"
                                "}\n",
                                "algorithm halves(width = 1) implements halo(width) {\n"
                                "  chunks 2\n"
                                "  for r in 0 ..< ranks {\n"
                                "    out[r][0 ..< 2 * width] = in[r - 1][2 * width ..< 4 * width]\n"
                                "    out[r][2 * width ..< 4 * width] = in[r + 1][0 ..< 2 * width]\n"
                                "  }\n"
                                "}\n"}) {
    for (uint32_t ranks : {2u, 3u, 5u}) {
      Plan plan = compiled(promise + algorithm, ranks, LowerOptions::Transfers::kStaged, {{"width", 1}});
      EXPECT_FALSE(verify(plan).bits_shared);
      for (DType type : {DType::kF32, DType::kF64, DType::kU8})
        for (uint64_t count : {3u, 0u, 1u, 5u, 33u})
          run_both(plan, spec_of(plan, type, RedOp::kSum, count, 64), false, count);
    }
  }
}

}  // namespace
}  // namespace coll
