// Every algorithm of the library with every element type and operator: the executor gives the interpreter's bits, and
// both lie within the error bound of what the contract defines.
//
// All combinations would be millions of runs. Instead the (type, operator) pairs take turns over rank counts,
// lowerings, counts, and calls out of place and in place, until each algorithm has seen each pair; the last check says
// so.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <set>

#include "ir/arithmetic.h"
#include "library_plans.h"

namespace coll {
namespace {

using testing::Setting;
using T = LowerOptions::Transfers;
using Pair = std::pair<DType, RedOp>;

// A plan that reduces nothing does the same with every operator.
std::deque<Pair> all_pairs(bool reduces) {
  std::deque<Pair> list;
  for (int op = 0; op < (reduces ? kRedOpCount : 1); ++op)
    for (int type = 0; type < kDTypeCount; ++type)
      if (supports(static_cast<RedOp>(op), static_cast<DType>(type)))
        list.emplace_back(static_cast<DType>(type), static_cast<RedOp>(op));
  return list;
}

// Integers use all their bits. Floats have both signs and every significand; factors of a product lie near 1; min and
// max also get what only they treat in their own way: NaN, infinities and zeros of both signs.
void fill(std::vector<std::byte>& data, DType type, RedOp op, std::mt19937& random) {
  if (!is_float(type)) {
    for (std::byte& b : data) b = static_cast<std::byte>(random());
    return;
  }
  constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  for (size_t at = 0; at < data.size(); at += size_bytes(type)) {
    double unit = std::ldexp(static_cast<double>((static_cast<uint64_t>(random()) << 32) | random()), -64);
    double magnitude = op == RedOp::kProd ? 0.75 + unit / 2 : std::ldexp(1 + unit, static_cast<int>(random() % 8) - 4);
    double value = random() % 2 == 0 ? magnitude : -magnitude;
    if ((op == RedOp::kMin || op == RedOp::kMax) && random() % 8 == 0) value = kSpecial[random() % std::size(kSpecial)];
    store_double(type, value, &data[at]);
  }
}

// Memory of a call: `in` and `out` apart, or `in` as the contract wants it within `out` (or the other way round).
struct Memory {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<RankBuffers> buffers;

  Memory(const Contract& contract, const CallSpec& spec, const std::vector<std::vector<std::byte>>& inputs,
         const std::vector<uint64_t>& out_bytes, bool inplace)
      : in(inputs) {
    for (uint32_t r = 0; r < in.size(); ++r) {
      out.emplace_back(out_bytes[r], std::byte{0xee});
      int64_t shift = contract.inplace_shift(r) * static_cast<int64_t>(spec.sizes.count * size_bytes(spec.sizes.dtype));
      if (!inplace || in[r].empty() || out[r].empty()) {
        buffers.push_back({in[r].data(), out[r].data()});
      } else if (out[r].size() >= in[r].size()) {
        std::copy(in[r].begin(), in[r].end(), out[r].begin() + shift);
        buffers.push_back({out[r].data() + shift, out[r].data()});
      } else {
        buffers.push_back({in[r].data(), in[r].data() - shift});
      }
    }
  }
};

bool within(DType type, const std::byte* got, const std::byte* want, double bound) {
  if (std::isinf(bound) || equal_elements(type, got, want, 1)) return true;
  if (!is_float(type)) return false;
  double a = load_as_double(type, got), b = load_as_double(type, want);
  return a == b || std::fabs(a - b) <= bound;
}

class Subject {
 public:
  Subject(std::shared_ptr<const Plan> plan, uint32_t slots) : plan_(plan), executor_(plan, {slots, kSlotBytes}) {}

  void check(Pair pair, uint64_t count, bool inplace, std::mt19937& random) {
    const Contract& contract = plan_->contract;
    CallSpec spec;
    spec.slot_bytes = kSlotBytes;
    spec.sizes.dtype = pair.first;
    spec.sizes.count = count;
    spec.op = pair.second;
    if (contract.kind == ContractKind::kAllToAllV)
      for (uint32_t i = 0; i < plan_->ranks() * plan_->ranks(); ++i)
        spec.sizes.counts.push_back(random() % (count + 1));
    if (spec.op == RedOp::kPremul)
      for (uint32_t r = 0; r < plan_->ranks(); ++r) spec.premul.push_back(0.25 + random() % 100 / 64.0);
    uint32_t bytes = size_bytes(spec.sizes.dtype);
    Layout layout(*plan_, spec.sizes, spec.slot_bytes);
    std::vector<std::vector<std::byte>> inputs;
    std::vector<uint64_t> out_bytes;
    std::vector<const void*> ins;
    for (uint32_t r = 0; r < plan_->ranks(); ++r) {
      inputs.emplace_back(layout.buffer_elements(r, buffers::kIn) * bytes);
      fill(inputs.back(), spec.sizes.dtype, spec.op, random);
      out_bytes.push_back(layout.buffer_elements(r, buffers::kOut) * bytes);
    }
    for (const auto& input : inputs) ins.push_back(input.data());
    Memory ours(contract, spec, inputs, out_bytes, inplace), reference(contract, spec, inputs, out_bytes, inplace);

    Status status = executor_.run(spec, {ours.buffers});
    ASSERT_TRUE(status.ok()) << status.message();
    status = interpret(*plan_, spec, reference.buffers);
    ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t r = 0; r < plan_->ranks(); ++r) {
      const auto* got = static_cast<const std::byte*>(ours.buffers[r].out);
      uint64_t elements = out_bytes[r] / bytes, first = 0;
      ASSERT_TRUE(equal_elements(spec.sizes.dtype, got, reference.buffers[r].out, elements, &first))
          << "executor and interpreter differ first at element " << first << " of rank " << r;
      if (!inplace) ASSERT_TRUE(ours.in[r] == inputs[r]) << "rank " << r << "'s input was written";
      std::vector<std::byte> want(out_bytes[r]);
      std::vector<double> bound;
      status = contract_result(contract, spec, r, ins, want.data(), &bound);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(bound.size(), elements);
      for (uint64_t i = 0; i < elements; ++i)
        ASSERT_TRUE(within(spec.sizes.dtype, got + i * bytes, &want[i * bytes], bound[i]))
            << "element " << i << " of rank " << r << " is "
            << (is_float(spec.sizes.dtype) ? load_as_double(spec.sizes.dtype, got + i * bytes) : 0) << ", not within "
            << bound[i] << " of "
            << (is_float(spec.sizes.dtype) ? load_as_double(spec.sizes.dtype, &want[i * bytes]) : 0);
    }
  }

 private:
  static constexpr uint64_t kSlotBytes = 128;  // several tiles
  std::shared_ptr<const Plan> plan_;
  Executor executor_;
};

class LibraryTypes : public ::testing::TestWithParam<const char*> {};

TEST_P(LibraryTypes, ExecutorInterpreterAndContractAgree) {
  std::string name = GetParam();
  constexpr uint64_t kCounts[] = {1, 7, 101, 0, 64, 389};
  constexpr size_t kPairsPerPlan = 40;
  std::mt19937 random(29);
  std::deque<Pair> turn;
  std::set<Pair> seen;
  size_t pairs = 0, runs = 0;
  for (uint32_t ranks : {1u, 2u, 3u, 5u, 8u, 9u}) {
    uint32_t nodes = !testing::hierarchical(name) ? 1 : ranks % 2 == 0 ? 2 : ranks % 3 == 0 ? 3 : 1;
    Setting setting{ranks, nodes, ranks / 2, ranks - 1};
    if (ranks > 2)
      for (const std::string& parameter : testing::library_parameters(name)) setting.parameters[parameter] = ranks % 4;
    Diagnostics diagnostics;
    std::optional<Schedule> schedule = testing::library_schedule(name, setting, diagnostics);
    if (!schedule) continue;  // library_test says whether it may refuse
    if (pairs == 0) turn = all_pairs(schedule->contract.reduces());
    pairs = turn.size();
    std::vector<LowerOptions> ways = {{}, {.transfers = T::kPut}, {.transfers = T::kGet}, {.slots = 1}};
    if (testing::uses_all_ranks(*schedule)) {
      ways.push_back({.switch_hardware = true});
      ways.push_back({.transfers = T::kGet, .switch_hardware = true});
    }
    for (const LowerOptions& way : ways) {
      std::optional<Plan> plan = lower(*schedule, way, diagnostics);
      ASSERT_TRUE(plan) << diagnostics.render();
      VerifyResult verdict = verify(*plan);
      ASSERT_TRUE(verdict.ok()) << render(verdict);
      auto shared = std::make_shared<const Plan>(std::move(*plan));
      Subject subject(shared, std::max(1u, verdict.least_slots));
      for (size_t n = 0; n < std::min(kPairsPerPlan, pairs); ++n) {
        Pair pair = turn.front();
        turn.pop_front();
        turn.push_back(pair);
        seen.insert(pair);
        uint64_t count = shared->contract.kind == ContractKind::kBarrier ? 1 : kCounts[runs % std::size(kCounts)];
        bool inplace = shared->inplace && (random() % 2 == 0);
        ++runs;
        SCOPED_TRACE(fmt::format("{} on {} ranks, way {}, {} {} of {}{}", name, ranks, &way - ways.data(), count,
                                 coll::name(pair.first), coll::name(pair.second), inplace ? ", in place" : ""));
        ASSERT_NO_FATAL_FAILURE(subject.check(pair, count, inplace, random));
      }
    }
  }
  EXPECT_EQ(seen.size(), pairs) << "not every type and operator had its turn";
  EXPECT_GT(pairs, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, LibraryTypes, ::testing::ValuesIn(testing::library_names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
