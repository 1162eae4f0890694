#include "frontend/user_arrays.h"

#include <fmt/format.h>

#include "frontend/diagnostics.h"

namespace coll {

std::string path_of(const std::string& pattern, uint32_t rank) {
  std::string path = pattern;
  for (size_t at = 0; (at = path.find("%r", at)) != std::string::npos;) {
    std::string number = std::to_string(rank);
    path.replace(at, 2, number);
    at += number.size();
  }
  return path;
}

std::optional<UserArrays> read_arrays(const std::string& pattern, const Contract& contract, std::optional<DType> dtype,
                                      const std::optional<Workload>& by_counts, Report& report) {
  UserArrays arrays;
  arrays.of_rank.resize(contract.ranks);
  std::optional<uint64_t> count;
  std::optional<uint32_t> first;
  Diagnostics& d = report.diagnostics;
  if (contract.kind == ContractKind::kBarrier) {
    d.error(diag::kCommandOptionConflict, {}, "a barrier reads no arrays", "leave out --in");
    return std::nullopt;
  }
  if (contract.kind == ContractKind::kAllToAllV && !by_counts) {
    d.error(diag::kCommandOptionConflict, {}, "arrays of `alltoallv` do not say how long each block is",
            "give --counts");
    return std::nullopt;
  }
  for (uint32_t r = 0; r < contract.ranks; ++r) {
    uint64_t blocks = contract.in_blocks(r);
    if (blocks == 0) continue;
    std::string path = path_of(pattern, r);
    std::optional<NpyArray> a = read_npy(path, dtype, report);
    if (!a) continue;
    uint64_t n = a->elements();
    if (by_counts) {
      uint64_t needed = side_elements(contract, by_counts->sizes, false, r);
      if (n != needed)
        d.error(diag::kCommandBadArray, {},
                fmt::format("`{}` has {} elements, but row {} of --counts adds up to {}", path, n, r, needed));
    } else if (n % blocks != 0) {
      d.error(diag::kCommandBadArray, {},
              fmt::format("`{}` has {} elements, but `{}` reads {} equal blocks from rank {}", path, n, contract.name,
                          blocks, r),
              fmt::format("the number of elements must be a multiple of {}", blocks));
    } else if (count && *count != n / blocks) {
      d.error(diag::kCommandBadArray, {},
              fmt::format("`{}` has blocks of {} elements, but `{}` has blocks of {}", path, n / blocks,
                          path_of(pattern, *first), *count),
              "all ranks have equal blocks");
    } else {
      count = n / blocks;
    }
    if (!first) {
      first = r;
    } else if (arrays.of_rank[*first] && arrays.of_rank[*first]->dtype != a->dtype) {
      d.error(diag::kCommandBadArray, {},
              fmt::format("`{}` has elements of type {}, but `{}` of {}", path, name(a->dtype),
                          path_of(pattern, *first), name(arrays.of_rank[*first]->dtype)),
              "all ranks have one type");
    }
    arrays.of_rank[r] = std::move(a);
  }
  if (!report.ok()) return std::nullopt;
  DType t = first ? arrays.of_rank[*first]->dtype : DType::kF32;
  arrays.workload = by_counts ? *by_counts : workload_of_count(contract, t, count.value_or(0));
  arrays.workload.sizes.dtype = t;
  if (by_counts) arrays.workload = workload_of_counts(contract, t, by_counts->sizes.counts);
  return arrays;
}

std::vector<uint64_t> output_shape(const UserArrays* arrays, uint32_t rank, uint64_t elements) {
  if (arrays != nullptr) {
    if (arrays->of_rank[rank] && arrays->of_rank[rank]->elements() == elements) return arrays->of_rank[rank]->shape;
    for (const auto& a : arrays->of_rank)
      if (a && !arrays->of_rank[rank] && a->elements() == elements) return a->shape;
  }
  return {elements};
}

}  // namespace coll
