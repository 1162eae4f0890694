#pragma once
#include "ir/support/diagnostic.h"

namespace coll::diag {
#define DIAGNOSTIC(id, name) inline constexpr DiagnosticId id{name};
#include "ir/diagnostics.def"
#undef DIAGNOSTIC
}  // namespace coll::diag
