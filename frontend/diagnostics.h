#pragma once
// Ids of the command line's own diagnostics, see diagnostics.def.
#include "ir/support/diagnostic.h"

namespace coll::diag {

#define DIAGNOSTIC(id, text) inline constexpr DiagnosticId id{text};
#include "frontend/diagnostics.def"
#undef DIAGNOSTIC

}  // namespace coll::diag
