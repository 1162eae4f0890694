#pragma once
// Compiling in this process: .coll text or a file to a proved plan. Link collc::compiler.
#include <string>
#include <vector>

#include "coll/jit.h"
#include "coll/plan.h"
#include "coll/status.h"

namespace collc {

// Errors: kProgram (all diagnostics, with carets), kRefused (the verifier's story), kFile. Thread-safe.
Result<Plan> compile_text(const std::string& text, const std::string& name, const CompileOptions& options);
Result<Plan> compile_file(const std::string& path, const CompileOptions& options);
// An algorithm of the standard library by its name, "ring".
Result<Plan> compile_library(const std::string& name, const CompileOptions& options);

// Names of the standard library.
std::vector<std::string> library_names();

}  // namespace collc
