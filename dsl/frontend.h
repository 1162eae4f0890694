#pragma once
// .coll text -> AST -> Schedule IR, and the formatter. Each step yields one finished structure; errors are collected.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/machine_view.h"
#include "ir/schedule.h"
#include "ir/support/diagnostic.h"

namespace coll {

namespace ast {
struct File;
}

// Parses and checks names and types. Null only when nothing could be made of it; look at diagnostics for errors.
// The tree refers to the SourceFile, which must outlive it.
std::shared_ptr<const ast::File> parse(const SourceFile&, Diagnostics&);

struct AlgorithmInfo {
  std::string name;
  std::string contract;                                     // name of the collective
  std::vector<std::pair<std::string, int64_t>> parameters;  // with their defaults
};
std::vector<AlgorithmInfo> algorithms(const ast::File&);

struct ElaborateOptions {
  std::string algorithm;  // empty: the only one of the file (a diagnostic when there are several)
  uint32_t ranks = 0;
  uint32_t root = 0;    // of rooted contracts; src of sendrecv
  uint32_t dst = 0;     // of sendrecv
  MachineView machine;  // node_sizes empty: one node of all ranks
  std::map<std::string, int64_t> parameters;
  uint32_t only_rank = kAllRanks;  // keep only the statements that touch this rank
  // Guards against programs that never end: loop iterations, statements and calls; and statements kept, which all that
  // follows turns into about 4 GB. What constant bounds of loops exceed for sure is refused before it is run.
  uint64_t max_steps = 1'000'000'000;
  uint64_t max_ops = uint64_t{1} << 26;
};

// AST -> Schedule IR. Null when diagnostics has errors, and for a file with errors in it, which parse() has told: also
// errors in other items than the algorithm asked for, since a name may mean something else once they are mended.
std::optional<Schedule> elaborate(const ast::File&, const ElaborateOptions&, Diagnostics&);

// Formats; nullopt (and diagnostics) when the text does not parse. Idempotent; keeps comments.
std::optional<std::string> format(const SourceFile&, Diagnostics&);

// Readable tree of a parsed file (`--emit ast`).
std::string print_ast(const ast::File&);

// The standard library (dsl/lib/*.coll), compiled in: name without ".coll" -> text.
struct LibraryFile {
  const char* name;
  const char* text;
};
const std::vector<LibraryFile>& library();

}  // namespace coll
