#pragma once
// Compiling at run time. The runtime itself has no compiler: one that is linked in registers itself here (linking
// collc::compiler does), and jit() uses it. A process that only runs saved plans links collc::runtime alone.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coll/plan.h"
#include "coll/status.h"

namespace collc {

struct CompileOptions {
  std::string algorithm;  // empty: the only one of the text
  uint32_t ranks = 0;
  uint32_t root = 0;                 // of rooted collectives; the source of sendrecv
  uint32_t dst = 0;                  // the destination of sendrecv
  std::vector<uint32_t> node_sizes;  // ranks of each node; empty: one node
  std::map<std::string, int64_t> parameters;
  enum class Transfers { kStaged, kPut, kGet } transfers = Transfers::kStaged;
  uint32_t slots = 8;  // the plan must run with this many message slots per connection
  bool verify = true;  // refuse what cannot be proved
};

struct Compiler {
  Result<Plan> (*compile)(const std::string& text, const std::string& name, const CompileOptions&) = nullptr;
};

// Thread-safe; the last one registered is used.
void register_compiler(const Compiler&);

// Compiles .coll text; `name` is what diagnostics call it. Errors: kProgram with all diagnostics; kRefused with the
// story; kUnavailable when no compiler is linked in.
Result<Plan> jit(const std::string& text, const std::string& name, const CompileOptions& options);

}  // namespace collc
