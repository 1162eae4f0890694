#pragma once
// Stories of refusals: names of places, instructions and contributions for a person, and the exact contents of one
// place from its backward slice.
#include <string>
#include <vector>

#include "ir/verify_tables.h"

namespace coll::verifier {

// "rank 1 lane 0 step 4 (`rrs`, ring.coll:6)"
std::string who(const Tables&, uint32_t instruction);
// "out[3] of rank 2"; with several grids "out[3] of grid 1 of rank 2".
std::string place_name(const Tables&, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place);
// "rank 3's part 2 of block 0"
std::string leaf_name(const Tables&, uint32_t leaf);
// "a, b, c and 12 more"
std::string list_of(const std::vector<std::string>& names);

// Refuses (or says that it cannot be judged) for a reason at one instruction.
bool refuse_at(const Tables&, VerifyResult&, Fault, uint32_t instruction, std::vector<std::string> lines);
// Likewise for a reason that is not about one instruction.
bool refuse(VerifyResult&, Fault, std::vector<std::string> lines);

struct Contribution {
  uint32_t leaf;   // flat index of the place of `in`
  uint64_t count;  // how many times it is counted
};

struct Provenance {
  bool written = false;
  uint32_t writer = kNone;                  // the last instruction that wrote the place
  uint32_t reducer = kNone;                 // the last reduction on the way to it
  std::vector<Contribution> contributions;  // sorted by leaf
};

// What a place of `out` holds at the end of a call. Exact for any size: contents are sums, so walking the replay
// backward with weights (1 at the place; each instruction passes the weight of its result on to each of its sources)
// ends with the multiplicity of every contribution, without a set being made on the way.
Provenance provenance(const Tables&, const std::vector<uint32_t>& order, uint32_t rank, uint32_t grid, uint32_t place);

}  // namespace coll::verifier
