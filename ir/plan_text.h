#pragma once
// Readers of the text forms. Errors are diagnostics with places; nothing is ever guessed.
#include <optional>

#include "ir/plan.h"
#include "ir/schedule.h"
#include "ir/support/diagnostic.h"

namespace coll {

std::optional<Plan> parse_plan(const SourceFile&, Diagnostics&);
std::optional<Schedule> parse_schedule(const SourceFile&, Diagnostics&);

}  // namespace coll
