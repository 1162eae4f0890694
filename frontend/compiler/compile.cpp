// The public compiler: text -> parse -> elaborate -> lower -> verify. It registers itself for collc::jit when linked.
#include "coll/compile.h"

#include <fstream>
#include <iterator>

#include "dsl/frontend.h"
#include "ir/verify.h"
#include "passes/lower.h"
#include "runtime/plan_handle.h"

namespace collc {

Result<Plan> compile_text(const std::string& text, const std::string& name, const CompileOptions& options) {
  coll::SourceFile file(name, text);
  coll::Diagnostics diagnostics;
  auto wrong = [&] { return Status(Code::kProgram, diagnostics.render()); };
  std::shared_ptr<const coll::ast::File> ast = coll::parse(file, diagnostics);
  if (ast == nullptr || diagnostics.has_errors()) return wrong();

  coll::ElaborateOptions e;
  e.algorithm = options.algorithm;
  e.ranks = options.ranks;
  e.root = options.root;
  e.dst = options.dst;
  e.machine.node_sizes = options.node_sizes;
  e.parameters = options.parameters;
  std::optional<coll::Schedule> schedule = coll::elaborate(*ast, e, diagnostics);
  if (!schedule || diagnostics.has_errors()) return wrong();

  coll::LowerOptions l;
  l.slots = options.slots;
  using T = coll::LowerOptions::Transfers;
  l.transfers = options.transfers == CompileOptions::Transfers::kPut   ? T::kPut
                : options.transfers == CompileOptions::Transfers::kGet ? T::kGet
                                                                       : T::kStaged;
  std::optional<coll::Plan> plan = coll::lower(*schedule, l, diagnostics);
  if (!plan || diagnostics.has_errors()) return wrong();

  if (options.verify) {
    coll::VerifyOptions v;
    v.slots = options.slots;
    coll::VerifyResult verdict = coll::verify(*plan, v);
    if (!verdict.ok()) return Status(Code::kRefused, coll::render(verdict));
  }
  return wrap(std::move(*plan));
}

Result<Plan> compile_file(const std::string& path, const CompileOptions& options) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::kFile, "cannot open " + path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return Status(Code::kFile, "cannot read " + path);
  return compile_text(text, path, options);
}

Result<Plan> compile_library(const std::string& name, const CompileOptions& options) {
  for (const coll::LibraryFile& file : coll::library())
    if (name == file.name) return compile_text(file.text, "lib:" + name, options);
  std::string near = coll::nearest(name, library_names());
  return Status(Code::kProgram,
                "the library has no `" + name + "`" + (near.empty() ? "" : "; did you mean `" + near + "`?"));
}

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const coll::LibraryFile& file : coll::library()) names.emplace_back(file.name);
  return names;
}

}  // namespace collc

// Makes the compiler known to jit(). The library's link options ask for this symbol, so that a program which calls
// jit() alone still gets this file out of the archive.
extern "C" const bool collc_compiler_registered = [] {
  collc::register_compiler({&collc::compile_text});
  return true;
}();
