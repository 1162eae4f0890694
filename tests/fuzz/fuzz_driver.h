#pragma once
// A small fuzzer of our own, since Debian's g++ brings none: mutates seed texts at byte, token and line level and calls
// one check on each.
//
// The check runs in a child process that puts the current input into shared memory first, so a crash, an abort, a run
// past the time limit or out of memory is a finding like any other, with its input at hand. Findings are shrunk (each
// candidate in a child of its own) and written beside the program. The same seed and inputs give the same mutants.
#include <string>

namespace coll {

struct FuzzOutcome {
  bool accepted = false;
  std::string failure;  // empty: the check is content
};

using FuzzCheck = FuzzOutcome (*)(const std::string& name, const std::string& text);

// `PROGRAM [--seconds N] [--seed S] FILE...`. Exit status 0 when nothing was found, 1 otherwise, 2 for bad usage.
int fuzz_main(int argc, char** argv, FuzzCheck check);

}  // namespace coll
