#include "frontend/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ir/support/check.h"

namespace coll {

namespace {

constexpr uint64_t kGuard = 64;  // bytes; also the alignment
constexpr int kGuardByte = 0x5C;

// Contracts whose outputs are the same on every rank: what they must be is computed once.
bool same_on_all_ranks(ContractKind kind) {
  return kind == ContractKind::kAllReduce || kind == ContractKind::kBroadcast || kind == ContractKind::kAllGather;
}

}  // namespace

char* Trial::Memory::data() const { return all.get() + kGuard; }

bool Trial::Memory::guards_intact() const {
  auto intact = [](const char* at) {
    return std::all_of(at, at + kGuard, [](char c) { return static_cast<unsigned char>(c) == kGuardByte; });
  };
  return intact(all.get()) && intact(all.get() + kGuard + bytes);
}

bool Trial::make(Memory& m, uint64_t bytes) {
  uint64_t whole = (bytes + 2 * kGuard + kGuard - 1) / kGuard * kGuard;
  m.all.reset(static_cast<char*>(std::aligned_alloc(kGuard, whole)));
  m.bytes = bytes;
  if (m.all == nullptr) return false;
  std::memset(m.all.get(), kGuardByte, kGuard);
  std::memset(m.all.get() + kGuard + bytes, kGuardByte, kGuard);
  return true;
}

Trial::Trial(const Plan& plan, Executor& executor, CallSpec spec, Workload workload, const TrialOptions& options)
    : plan_(plan), executor_(executor), spec_(std::move(spec)), workload_(std::move(workload)), options_(options) {
  spec_.sizes = workload_.sizes;
  for (uint32_t r = 0; r < plan_.ranks(); ++r)
    total_bytes_ += side_elements(plan_.contract, spec_.sizes, false, r) * element_bytes() + area_bytes(r);
}

uint64_t Trial::area_bytes(uint32_t rank) const {
  uint64_t out = side_elements(plan_.contract, spec_.sizes, true, rank);
  if (!plan_.inplace) return out * element_bytes();
  return std::max(out, spec_.sizes.count * plan_.contract.buf_blocks()) * element_bytes();
}

uint64_t Trial::bytes_needed() const {
  uint64_t bytes = total_bytes_;
  if (!options_.check) return bytes;
  if (interpretable()) bytes += total_bytes_;
  uint64_t longest = 0;
  for (uint32_t r = 0; r < plan_.ranks(); ++r) longest = std::max(longest, output_elements(r));
  return bytes + longest * (element_bytes() + sizeof(double));
}

Status Trial::allocate() {
  ins_.resize(plan_.ranks());
  areas_.resize(plan_.ranks());
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    if (!make(ins_[r], side_elements(plan_.contract, spec_.sizes, false, r) * element_bytes()) ||
        !make(areas_[r], area_bytes(r)))
      return {StatusCode::kUnavailable, fmt::format("out of memory for the buffers of rank {}", r)};
  }
  return {};
}

void Trial::random_inputs() {
  for (uint32_t r = 0; r < plan_.ranks(); ++r)
    fill_random(spec_.sizes.dtype, spec_.op, options_.seed, r, ins_[r].data(), ins_[r].bytes / element_bytes());
}

void Trial::set_input(uint32_t rank, const void* data) {
  if (ins_[rank].bytes != 0) std::memcpy(ins_[rank].data(), data, ins_[rank].bytes);
}

char* Trial::out_of(const Memory& area, uint32_t rank) const {
  // An in-place buffer has `out` at its block; the same place serves out of place, where the rest lies idle.
  uint64_t shift = plan_.inplace ? plan_.contract.out_offset(rank) * spec_.sizes.count * element_bytes() : 0;
  return area.data() + shift;
}

const void* Trial::output(uint32_t rank) const { return out_of(areas_[rank], rank); }

std::vector<RankBuffers> Trial::buffers(const std::vector<Memory>& areas, bool in_place) const {
  std::vector<RankBuffers> all(plan_.ranks());
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    if (plan_.contract.out_blocks(r) != 0) all[r].out = out_of(areas[r], r);
    if (plan_.contract.in_blocks(r) == 0) continue;
    uint64_t shift = plan_.contract.in_offset(r) * spec_.sizes.count * element_bytes();
    all[r].in = in_place ? areas[r].data() + shift : ins_[r].data();
  }
  return all;
}

void Trial::reset(const std::vector<Memory>& areas, bool in_place) const {
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    fill_poison(spec_.sizes.dtype, areas[r].data(), areas[r].bytes / element_bytes());
    if (!in_place || ins_[r].bytes == 0) continue;
    uint64_t shift = plan_.contract.in_offset(r) * spec_.sizes.count * element_bytes();
    std::memcpy(areas[r].data() + shift, ins_[r].data(), ins_[r].bytes);
  }
}

Status Trial::call(bool in_place, double* seconds, uint32_t times) {
  Status status = executor_.run(spec_, {buffers(areas_, in_place)}, times, seconds);
  if (seconds != nullptr) *seconds /= times;
  return status;
}

uint64_t Trial::output_hash() const {
  uint64_t h = 0;
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    uint64_t parts[2] = {h, hash_bytes(output(r), output_elements(r) * element_bytes())};
    h = hash_bytes(parts, sizeof parts);
  }
  return h;
}

void Trial::note_wrong(Outcome& outcome, uint32_t rank, const Mismatch& m, const void* expected, const char* by) const {
  if (m.wrong == 0) return;
  if (outcome.first_wrong.empty()) {
    DType t = spec_.sizes.dtype;
    outcome.first_wrong =
        fmt::format("rank {} holds {} in out element {}, where {} gives {}", rank, show_value(t, output(rank), m.first),
                    m.first, by, show_value(t, expected, m.first));
  }
}

Status Trial::compare_with_interpreter(bool in_place, Outcome& outcome) {
  std::vector<Memory> areas(plan_.ranks());
  for (uint32_t r = 0; r < plan_.ranks(); ++r)
    if (!make(areas[r], area_bytes(r)))
      return {StatusCode::kUnavailable, "out of memory for the interpreter's outputs"};
  reset(areas, in_place);
  if (Status status = interpret(plan_, spec_, buffers(areas, in_place)); !status.ok()) return status;
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    const char* expected = out_of(areas[r], r);
    Mismatch m = compare_bits(spec_.sizes.dtype, output(r), expected, output_elements(r));
    note_wrong(outcome, r, m, expected, "the interpreter");
    outcome.wrong += m.wrong;
  }
  outcome.interpreted = true;
  return {};
}

Status Trial::compare_with_contract(Outcome& outcome) {
  if (plan_.contract.kind == ContractKind::kBarrier) return {};  // a token has no value to judge
  const Contract& contract = plan_.contract;
  std::vector<const void*> ins;
  for (const Memory& m : ins_) ins.push_back(m.data());
  std::vector<char> expected;
  std::vector<double> bound;
  uint64_t wrong = 0;
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    uint64_t n = output_elements(r);
    if (n == 0) continue;
    if (expected.empty() || !same_on_all_ranks(contract.kind)) {
      expected.resize(n * element_bytes());
      bound.assign(n, 0);
      Status status = contract_result(contract, spec_, r, ins, expected.data(), &bound);
      if (!status.ok()) return status;
    }
    for (uint32_t b = 0; b < contract.out_blocks(r); ++b) {
      if (contract.expect(r, b).kind == Expectation::Kind::kAny) continue;
      uint64_t first = block_offset(contract, spec_.sizes, true, r, b);
      uint64_t length = block_length(contract, spec_.sizes, true, r, b);
      const char* got = static_cast<const char*>(output(r)) + first * element_bytes();
      Mismatch m = compare_values(spec_.sizes.dtype, got, expected.data() + first * element_bytes(),
                                  {bound.data() + first, length});
      m.first += first;
      note_wrong(outcome, r, m, expected.data(), "the contract");
      wrong += m.wrong;
    }
  }
  // An element wrong by both judgements counts once.
  outcome.wrong = std::max(outcome.wrong, wrong);
  return {};
}

Status Trial::measure(bool in_place, Outcome& outcome) {
  uint64_t input_hash = 0;
  auto hash_inputs = [&] {
    uint64_t h = 0;
    for (const Memory& m : ins_) h = h * 31 + hash_bytes(m.data(), m.bytes);
    return h;
  };
  if (options_.check) input_hash = hash_inputs();
  auto judge = [&]() -> Status {
    if (interpretable())
      if (Status status = compare_with_interpreter(in_place, outcome); !status.ok()) return status;
    outcome.checked = true;
    return compare_with_contract(outcome);
  };

  reset(areas_, in_place);
  if (Status status = call(in_place, nullptr); !status.ok()) return status;
  if (options_.check)
    if (Status status = judge(); !status.ok()) return status;
  uint64_t first_hash = options_.check ? output_hash() : 0;

  double warm = 0;
  for (uint32_t i = 0; i < std::max(1u, options_.warmup); ++i)
    if (Status status = call(in_place, &warm); !status.ok()) return status;
  uint32_t in_a_row = static_cast<uint32_t>(std::clamp(kSampleSeconds / std::max(warm, 1e-9), 1.0, kMostInARow));
  std::vector<double> seconds;
  double spent = 0;
  while (seconds.size() < options_.iterations) {
    double s = 0;
    if (Status status = call(in_place, &s, in_a_row); !status.ok()) return status;
    seconds.push_back(s);
    spent += s * in_a_row;
    if (options_.budget_seconds > 0 && spent > options_.budget_seconds && seconds.size() >= 3) break;
  }
  outcome.timed_calls = static_cast<uint32_t>(seconds.size()) * in_a_row;
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  outcome.time_us = seconds[seconds.size() / 2] * 1e6;

  reset(areas_, in_place);
  if (Status status = call(in_place, nullptr); !status.ok()) return status;
  if (!options_.check) return {};
  if (outcome.wrong == 0 && output_hash() != first_hash) {
    if (Status status = judge(); !status.ok()) return status;
    outcome.wrong = std::max<uint64_t>(outcome.wrong, 1);
    if (outcome.first_wrong.empty()) outcome.first_wrong = "two calls with the same inputs gave different bits";
  }
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    if (areas_[r].guards_intact() && ins_[r].guards_intact()) continue;
    ++outcome.wrong;
    outcome.first_wrong = fmt::format("rank {}: bytes outside its buffers were written", r);
  }
  if (hash_inputs() != input_hash) {
    ++outcome.wrong;
    outcome.first_wrong = "an input was written, which only `in place` may do";
  }
  return {};
}

}  // namespace coll
