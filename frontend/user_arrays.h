#pragma once
// Users' arrays as the inputs of a run: one .npy file for each rank that has an `in`, and the element count on which
// they agree.
#include <optional>
#include <string>
#include <vector>

#include "frontend/npy.h"
#include "frontend/workload.h"
#include "ir/contract.h"

namespace coll {

struct UserArrays {
  std::vector<std::optional<NpyArray>> of_rank;
  Workload workload;
};

// `pattern` with every %r replaced by the rank.
std::string path_of(const std::string& pattern, uint32_t rank);

// nullopt with a report of every file that cannot be read, is malformed, or fits neither the contract nor the others.
// `by_counts`: of alltoallv, whose arrays do not say how long each block is.
std::optional<UserArrays> read_arrays(const std::string& pattern, const Contract&, std::optional<DType>,
                                      const std::optional<Workload>& by_counts, Report&);

// The shape of the rank's own array where that has as many elements, else, for a rank without `in`, of another's that
// has, else one dimension.
std::vector<uint64_t> output_shape(const UserArrays* arrays, uint32_t rank, uint64_t elements);

}  // namespace coll
