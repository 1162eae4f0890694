#pragma once
// A compiled plan: load it, look at it, prove it. Loading needs no compiler.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "coll/status.h"

namespace collc {

struct VerifyOptions {
  uint32_t slots = 8;  // message slots per connection for the deadlock check
  uint32_t calls = 3;  // calls in a row, without a barrier between them
};

struct Verification {
  bool proved = false;
  std::string text;                      // for people: "proved: ..." or "refused: ..." with the story, a line each
  bool bits_equal_on_all_ranks = false;  // what several ranks must hold is computed alike on each of them
  uint32_t least_slots = 0;              // with which it runs; 0 unless proved
};

// Immutable and cheap to copy; all functions may be called from any thread.
class Plan {
 public:
  // From a file that `collc compile -o` or save() wrote. Errors: kFile; kProgram with diagnostics.
  static Result<Plan> load(const std::string& path);
  // From plan text; `name` is what diagnostics call it.
  static Result<Plan> parse(std::string text, const std::string& name = "plan");

  Status save(const std::string& path) const;
  std::string text() const;

  const std::string& name() const;        // of the algorithm
  const std::string& collective() const;  // "allreduce", ... or the name of a user's own
  uint32_t ranks() const;
  uint64_t instructions() const;
  uint32_t lanes_per_rank_max() const;
  uint32_t channels() const;      // most of any ordered pair of ranks
  uint32_t slots_needed() const;  // message slots per connection
  bool may_run_in_place() const;

  // Elements of a rank's input and output for `count` elements per block (all-gather's output: ranks * count, ...).
  // alltoallv: by the counts of the call, not by these.
  uint64_t in_elements(uint32_t rank, uint64_t count) const;
  uint64_t out_elements(uint32_t rank, uint64_t count) const;

  // Proves the plan, for every size and every interleaving, or says why not. Cost: O(instructions x lanes of a rank).
  Verification verify(const VerifyOptions& options = {}) const;

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace collc
