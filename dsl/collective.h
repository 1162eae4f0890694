#pragma once
// A user's own `collective` -> Contract, for a number of ranks.
#include <optional>
#include <vector>

#include "dsl/ast.h"
#include "dsl/program.h"
#include "ir/contract.h"
#include "ir/support/diagnostic.h"

namespace coll::dsl {

// `place` is where the algorithm names it, for messages about its arguments.
std::optional<Contract> build_collective(const ast::File&, const ast::Item& collective,
                                         const std::vector<int64_t>& arguments, const World&, uint64_t max_steps,
                                         Diagnostics&);

// Blocks or places that one rank's buffer may have.
inline constexpr int64_t kMostPlaces = int64_t{1} << 28;

}  // namespace coll::dsl
