#pragma once
// Plans of library algorithms, compiled for tests; and running a plan against its contract's definition.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dsl/frontend.h"
#include "ir/interpret.h"
#include "ir/layout.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "runtime/cpu/executor.h"

namespace coll::testing {

struct Setting {
  uint32_t ranks = 4;
  uint32_t nodes = 1;
  uint32_t root = 0;
  uint32_t dst = 0;
  std::map<std::string, int64_t> parameters = {};
};

// nullopt when the algorithm refuses the setting; `diagnostics` then says why.
inline std::optional<Schedule> library_schedule(const std::string& name, const Setting& setting,
                                                Diagnostics& diagnostics) {
  for (const LibraryFile& entry : library()) {
    if (name != entry.name) continue;
    // The schedule keeps ranges into the file: it must outlive it.
    static std::vector<std::unique_ptr<SourceFile>> files;
    files.push_back(std::make_unique<SourceFile>("lib:" + name, entry.text));
    std::shared_ptr<const ast::File> ast = parse(*files.back(), diagnostics);
    if (ast == nullptr || diagnostics.has_errors()) return std::nullopt;
    ElaborateOptions options;
    options.ranks = setting.ranks;
    options.root = setting.root;
    options.dst = setting.dst;
    options.parameters = setting.parameters;
    options.machine = MachineView::uniform(setting.ranks, setting.nodes);
    std::optional<Schedule> schedule = elaborate(*ast, options, diagnostics);
    if (diagnostics.has_errors()) return std::nullopt;
    return schedule;
  }
  return std::nullopt;
}

// Names of an algorithm's parameters, most of them chunk counts.
inline std::vector<std::string> library_parameters(const std::string& name) {
  std::vector<std::string> list;
  for (const LibraryFile& entry : library()) {
    if (name != entry.name) continue;
    SourceFile file("lib:" + name, entry.text);
    Diagnostics diagnostics;
    std::shared_ptr<const ast::File> ast = parse(file, diagnostics);
    for (const AlgorithmInfo& algorithm : algorithms(*ast))
      for (const auto& [parameter, value] : algorithm.parameters) list.push_back(parameter);
  }
  return list;
}

// Algorithms for machines of several nodes.
inline bool hierarchical(const std::string& name) {
  return name.find("hierarchical") != std::string::npos || name == "twostep_alltoall" || name == "threestep_alltoall" ||
         name == "alltonext";
}

// Statements over all ranks' memory at once, which a switch can do.
inline bool uses_all_ranks(const Schedule& schedule) {
  for (const ScheduleOp& op : schedule.ops)
    if (op.dst.rank == kAllRanks) return true;
  for (const Place& source : schedule.sources)
    if (source.rank == kAllRanks) return true;
  return false;
}

// Names of the library's algorithms, for INSTANTIATE_TEST_SUITE_P.
inline std::vector<const char*> library_names() {
  std::vector<const char*> list;
  for (const LibraryFile& file : library()) list.push_back(file.name);
  return list;
}

// One call's data for a plan: inputs, poisoned outputs, expected results.
struct CallData {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<RankBuffers> buffers;
};

// Inputs whose sums and products are exact in every type: small integers, of which products of many stay 1, -1 or 0.
inline double small_value(std::mt19937& random, RedOp op) {
  if (op == RedOp::kProd) return random() % 4 == 0 ? -1 : 1;
  return static_cast<double>(random() % 3);
}

inline void store(std::byte* at, DType type, double value) {
  auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  switch (type) {
    case DType::kF32:
      put(static_cast<float>(value));
      break;
    case DType::kF64:
      put(value);
      break;
    case DType::kI8:
      put(static_cast<int8_t>(value));
      break;
    case DType::kU8:
      put(static_cast<uint8_t>(value));
      break;
    case DType::kI32:
      put(static_cast<int32_t>(value));
      break;
    case DType::kU32:
      put(static_cast<uint32_t>(value));
      break;
    case DType::kI64:
      put(static_cast<int64_t>(value));
      break;
    case DType::kU64:
      put(static_cast<uint64_t>(value));
      break;
    default:
      break;
  }
}

inline CallData make_call(const Plan& plan, const CallSpec& spec, bool inplace, uint32_t seed) {
  std::mt19937 random(seed);
  CallData data;
  uint32_t bytes = size_bytes(spec.sizes.dtype);
  Layout layout(plan, spec.sizes, spec.slot_bytes);
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    uint64_t in_elements = layout.buffer_elements(r, buffers::kIn),
             out_elements = layout.buffer_elements(r, buffers::kOut);
    data.in.emplace_back(in_elements * bytes);
    data.out.emplace_back(out_elements * bytes, std::byte{0xee});
    for (uint64_t i = 0; i < in_elements; ++i) {
      bool wide = spec.sizes.dtype == DType::kI64 && spec.op == RedOp::kSum;
      if (wide) {
        uint64_t v = (static_cast<uint64_t>(random()) << 32) | random();
        std::memcpy(&data.in[r][i * bytes], &v, 8);
      } else {
        store(&data.in[r][i * bytes], spec.sizes.dtype, small_value(random, spec.op));
      }
    }
  }
  for (uint32_t r = 0; r < plan.ranks(); ++r) data.buffers.push_back({data.in[r].data(), data.out[r].data()});
  if (!inplace) return data;
  // In place: the larger buffer holds both.
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    int64_t shift = plan.contract.inplace_shift(r) * static_cast<int64_t>(spec.sizes.count * bytes);
    if (data.in[r].empty() || data.out[r].empty()) continue;
    if (data.out[r].size() >= data.in[r].size()) {
      std::copy(data.in[r].begin(), data.in[r].end(), data.out[r].begin() + shift);
      data.buffers[r].in = data.out[r].data() + shift;
    } else {
      data.out[r] = data.in[r];  // the output is a block of the input
      data.buffers[r] = {data.out[r].data(), data.out[r].data() - shift};
    }
  }
  return data;
}

// Empty if every output is what the contract says; else the first place that is not.
inline std::string compare(const Plan& plan, const CallSpec& spec, const CallData& data) {
  uint32_t bytes = size_bytes(spec.sizes.dtype);
  std::vector<const void*> ins;
  for (const auto& in : data.in) ins.push_back(in.data());
  Layout layout(plan, spec.sizes, spec.slot_bytes);
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    uint64_t elements = layout.buffer_elements(r, buffers::kOut);
    if (elements == 0 || plan.contract.kind == ContractKind::kBarrier) continue;
    std::vector<std::byte> want(elements * bytes, std::byte{0xee});
    std::vector<double> bound;
    Status status = contract_result(plan.contract, spec, r, ins, want.data(), &bound);
    if (!status.ok()) return status.message();
    const auto* got = static_cast<const std::byte*>(data.buffers[r].out);
    for (uint64_t i = 0; i < elements; ++i)
      if (std::memcmp(got + i * bytes, &want[i * bytes], bytes) != 0) return fmt::format("rank {} element {}", r, i);
  }
  return "";
}

}  // namespace coll::testing
