#pragma once
// The backward slice of what a place or an operand holds: every instruction that its value went through, the exact
// contributions, and the first instruction on the way that did wrong.
//
// Contents are sums, so walking the replay backward with weights (1 at the place; each instruction passes the weight of
// its result on to each of its sources) ends with the multiplicity of every contribution, without a set being made on
// the way: exact for any size, also where the verdict came from fingerprints.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/verify_tables.h"

namespace coll::verifier {

struct Contribution {
  uint32_t leaf;       // flat index of the place of `in`
  uint64_t count = 1;  // how many times it is counted
};

// A place of memory, a place of a message, or a leaf.
using ValueKey = uint64_t;

struct Slice {
  // One place of one instruction. Its sources, then its destinations, are keys[first ..]; a group counts as one for
  // each member.
  struct Step {
    uint32_t position;  // in the replay
    uint32_t first, sources;
  };
  std::vector<Step> steps;  // latest first
  std::vector<ValueKey> keys;
  std::vector<Contribution> contributions;  // sorted by leaf

  bool written() const { return !steps.empty(); }
};

// Where a value went wrong: the source that should not have been folded in.
struct Culprit {
  uint32_t position;  // in the replay
  std::vector<ValueKey> before, added;
};

class Slicer {
 public:
  Slicer(const Tables& t, const std::vector<uint32_t>& order) : t_(t), order_(order) {}

  // What a place of `out` or scratch holds after the first `end` instructions of the replay.
  Slice of_place(uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place, uint32_t end) const;
  // What these values hold together before the instruction at this position acts.
  std::vector<Contribution> contributions(std::span<const ValueKey> keys, uint32_t position) const;

  // The first fold of a value that has wanted contributions (sorted) with one that has others.
  std::optional<Culprit> first_mix(const Slice&, std::span<const uint32_t> wanted) const;
  // The first fold after which this contribution is counted more than once.
  std::optional<Culprit> first_recount(const Slice&, uint32_t leaf) const;

 private:
  Slice walk(std::span<const ValueKey> keys, uint32_t end) const;
  template <class State, class Leaf, class Wrong>
  std::optional<Culprit> first(const Slice&, Leaf, Wrong) const;

  const Tables& t_;
  const std::vector<uint32_t>& order_;
};

}  // namespace coll::verifier
