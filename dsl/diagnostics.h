#pragma once
// Ids of what the front end can report, from diagnostics.def.
#include "ir/support/diagnostic.h"

namespace coll::dsl {

// The user's code in a message, on one line and not too long: `text`.
std::string quoted(std::string_view text);

// "did you mean `x`?", or nothing. Only for errors that are shown: past the limit a search would only cost time.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, const Diagnostics&);

}  // namespace coll::dsl

namespace coll::diag {

#define DIAGNOSTIC(id, text) inline constexpr DiagnosticId id{text};
#include "dsl/diagnostics.def"
#undef DIAGNOSTIC

}  // namespace coll::diag
