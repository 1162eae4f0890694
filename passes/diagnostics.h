#pragma once
// Ids of the diagnostics that passes report; one line each in diagnostics.def.
#include "ir/support/diagnostic.h"

namespace coll::diag {

#define DIAGNOSTIC(id, name) inline constexpr DiagnosticId id{name};
#include "passes/diagnostics.def"
#undef DIAGNOSTIC

}  // namespace coll::diag
