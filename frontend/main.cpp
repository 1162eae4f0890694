// The `collc` program: a table of verbs. Each verb lives in its own file, verb_NAME.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "frontend/command.h"
#include "frontend/diagnostics.h"
#include "frontend/memory.h"
#include "frontend/progress.h"
#include "frontend/report.h"
#include "frontend/units.h"

namespace coll {
namespace {

constexpr Verb kVerbs[] = {
    {"run", "compile, verify, run, and compare every element with the contract's definition",
     "collc run lib:ring --ranks 8 --sizes 1K..64M", verb_run},
    {"compile", "compile and verify, and print the plan, the schedule or the syntax tree",
     "collc compile lib:ring --ranks 8 --emit plan -o ring8.plan", verb_compile},
    {"check", "prove algorithms and plans right, or refuse them with the smallest story",
     "collc check my.coll ring8.plan --ranks 8 --slots 2", verb_check},
    {"fmt", "format .coll files", "collc fmt --write my.coll", verb_fmt},
    {"opt", "run the lowering pass by pass and print what it makes", "collc opt lib:ring --ranks 4 --until channels",
     verb_opt},
    {"targets", "say what this build and this machine can run, and why not", "collc targets", verb_targets},
    {"list", "list the library of algorithms", "collc list --json", verb_list},
};

// Verbs of the language that this version does not have. They take no part in anything else.
constexpr const char* kLaterVerbs[] = {"sim",    "explain",  "topo", "bound", "synth", "import",
                                       "verify", "recorder", "tune", "bench", "view"};

std::string usage() {
  std::string text =
      "collc: a compiler for collective communication\n\nUsage: collc VERB [OPTIONS] [FILE...]\n\nVerbs:\n";
  for (const Verb& v : kVerbs) text += fmt::format("  {:<9} {}\n", v.name, v.what);
  text +=
      "\nFILE is a .coll file, lib:NAME for an algorithm of the library, a saved plan, or - for standard input.\n"
      "Exit status: 0 right; 1 the answer is no; 2 bad input or usage; 3 the machine failed (device, peer, "
      "time-out,\nfile system).\n\nExamples:\n";
  for (const Verb& v : kVerbs) text += fmt::format("  {}\n", v.example);
  text += "\n`collc VERB --help` tells the options of a verb; `collc --version` the version.\n";
  return text;
}

int unknown_verb(const std::string& word, bool json) {
  Report report;
  if (std::find_if(std::begin(kLaterVerbs), std::end(kLaterVerbs), [&](const char* v) { return word == v; }) !=
      std::end(kLaterVerbs)) {
    report.diagnostics.error(diag::kCommandVerbNotAvailable, {},
                             fmt::format("the verb `{}` is not available in this version of collc", word));
    return report.finish(json, {{"ok", false}});
  }
  std::vector<std::string> names;
  for (const Verb& v : kVerbs) names.emplace_back(v.name);
  std::string near = near_word(word, names);
  report.diagnostics.error(
      diag::kCommandUnknownVerb, {}, fmt::format("`{}` is not a verb of collc", word),
      near.empty() ? fmt::format("one of: {}", fmt::join(names, ", ")) : fmt::format("did you mean `{}`", near));
  return report.finish(json, {{"ok", false}});
}

int run_command_line(const Words& words) {
  if (words.empty()) {
    std::fputs(usage().c_str(), stderr);
    return kExitBadInput;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(usage().c_str(), stdout);
    return kExitRight;
  }
  if (words[0] == "--version") {
    std::puts("collc " COLLC_VERSION);
    return kExitRight;
  }
  for (const Verb& v : kVerbs)
    if (words[0] == v.name) return v.main(v, Words(words.begin() + 1, words.end()));
  return unknown_verb(words[0], wants_json(words));
}

// What no verb could turn into a sentence of its own.
int failed(const Words& words, StatusCode code, const std::string& message) {
  clear_progress();
  std::fprintf(stderr, "collc: error: %s\n", message.c_str());
  if (wants_json(words)) {
    print_json({{"ok", false}, {"error", error_json(code, message)}});
    std::fflush(stdout);
  }
  return kExitMachine;
}

}  // namespace
}  // namespace coll

int main(int argc, char** argv) {
  coll::limit_memory();
  std::signal(SIGPIPE, SIG_DFL);
  const coll::Words words(argv + 1, argv + argc);
  try {
    int status = coll::run_command_line(words);
    if (std::fflush(stdout) != 0) {
      std::perror("collc: error: standard output");
      return coll::kExitMachine;
    }
    return status;
  } catch (const std::bad_alloc&) {
    return coll::failed(words, coll::StatusCode::kUnavailable,
                        "out of memory; fewer ranks or a smaller size needs less");
  } catch (const std::system_error& error) {
    return coll::failed(words, coll::StatusCode::kUnavailable, error.what());
  }
}
