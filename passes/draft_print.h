#pragma once
// A Draft as text, for --print-after. For people; it is not read back.
#include <string>

#include "passes/draft.h"

namespace coll {

std::string print_draft(const Draft&);

}  // namespace coll
