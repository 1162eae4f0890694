#pragma once
// What runtimes that execute foreign plans can take, by the names of `--limits`.
#include <string>
#include <vector>

#include "ir/verify.h"

namespace coll {

const std::vector<TargetLimits>& known_limits();

// A comma list of their names; unknown ones are reported.
class Report;
std::vector<TargetLimits> read_limits(const std::string& text, Report&);

}  // namespace coll
