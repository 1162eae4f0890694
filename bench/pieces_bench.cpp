// How the pieces of the compiler grow: parse, elaborate, lower, verify, print, read back, each alone, on the ring.
//
// A ring of n ranks has about 2 n^2 instructions, so O(n^2) below is linear in the size of the plan. The goals are
// about whole runs and stand in compile_series.py; this program says which piece to look at when one is missed.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "dsl/frontend.h"
#include "ir/plan_text.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {
namespace {

SourceFile library_file(std::string_view name) {
  for (const LibraryFile& file : library()) {
    if (file.name == name) return SourceFile(std::string(name) + ".coll", file.text);
  }
  std::abort();
}

// Every stage's result for one rank count; `value()` aborts on what must not fail, so that no benchmark times an error.
struct Stages {
  SourceFile source = library_file("ring");
  std::shared_ptr<const ast::File> file;
  ElaborateOptions options;
  Schedule schedule;
  Plan plan;

  explicit Stages(uint32_t ranks) {
    Diagnostics diagnostics;
    file = parse(source, diagnostics);
    options.algorithm = "ring";
    options.ranks = ranks;
    schedule = elaborate(*file, options, diagnostics).value();
    plan = lower(schedule, {}, diagnostics).value();
  }
};

void time_parse(benchmark::State& state) {
  std::string text;
  const SourceFile ring = library_file("ring");
  const std::string body(ring.text());
  uint32_t copies = 0;
  // Renamed copies of one algorithm: a long file without duplicate names.
  while (SourceFile("long.coll", text).line_count() < state.range(0)) {
    std::string copy = body;
    const size_t at = copy.find("algorithm ring");
    if (at == std::string::npos) return state.SkipWithError("lib:ring does not define `ring`");
    copy.replace(at, 14, "algorithm ring_" + std::to_string(copies++));
    text += copy;
  }
  const SourceFile source("long.coll", text);
  for (auto _ : state) {
    Diagnostics diagnostics;
    auto file = parse(source, diagnostics);
    if (diagnostics.has_errors()) return state.SkipWithError(diagnostics.render().c_str());
    benchmark::DoNotOptimize(file);
  }
  state.SetComplexityN(source.line_count());
}
BENCHMARK(time_parse)->RangeMultiplier(2)->Range(1250, 10000)->Unit(benchmark::kMillisecond)->Complexity();

template <typename Step>
void time_step(benchmark::State& state, Step step) {
  const Stages stages(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(step(stages));
  state.SetComplexityN(state.range(0));
}

auto elaborate_step = [](const Stages& s) {
  Diagnostics diagnostics;
  return elaborate(*s.file, s.options, diagnostics).has_value();
};
auto lower_step = [](const Stages& s) {
  Diagnostics diagnostics;
  return lower(s.schedule, {}, diagnostics).has_value();
};
auto verify_step = [](const Stages& s) { return verify(s.plan).ok(); };
auto print_step = [](const Stages& s) { return print_plan(s.plan).size(); };
auto read_step = [](const Stages& s) {
  Diagnostics diagnostics;
  return parse_plan(SourceFile("ring.plan", print_plan(s.plan)), diagnostics).has_value();
};

#define COLLC_STEP(step)                          \
  BENCHMARK_CAPTURE(time_step, step, step##_step) \
      ->RangeMultiplier(2)                        \
      ->Range(32, 256)                            \
      ->Unit(benchmark::kMillisecond)             \
      ->Complexity(benchmark::oNSquared)
COLLC_STEP(elaborate);
COLLC_STEP(lower);
COLLC_STEP(verify);
COLLC_STEP(print);
COLLC_STEP(read);
#undef COLLC_STEP

}  // namespace
}  // namespace coll

BENCHMARK_MAIN();
