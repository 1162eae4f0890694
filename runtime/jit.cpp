#include "coll/jit.h"

#include <mutex>

namespace collc {

namespace {

std::mutex mutex;
Compiler compiler;  // guarded by mutex

}  // namespace

void register_compiler(const Compiler& c) {
  std::lock_guard<std::mutex> lock(mutex);
  compiler = c;
}

Result<Plan> jit(const std::string& text, const std::string& name, const CompileOptions& options) {
  Compiler c;
  {
    std::lock_guard<std::mutex> lock(mutex);
    c = compiler;
  }
  if (c.compile == nullptr) {
    return Status(Code::kUnavailable,
                  "no compiler is linked into this process; link collc::compiler, or load a saved plan");
  }
  return c.compile(text, name, options);
}

}  // namespace collc
