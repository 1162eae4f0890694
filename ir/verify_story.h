#pragma once
// Words of refusals: names of places, instructions and contributions for a person.
#include <span>
#include <string>
#include <vector>

#include "ir/verify_slice.h"
#include "ir/verify_tables.h"

namespace coll::verifier {

// "rank 1 lane 0 step 4 (`rrs`, ring.coll:6)"
std::string who(const Tables&, uint32_t instruction);
// "out[3] of rank 2"; with several grids "out[3] of grid 1 of rank 2". Scratch is what a .coll file knows as a tmp, or
// not at all.
std::string place_name(const Tables&, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place);
// "rank 2 out[3]"
std::string place_on_rank(const Tables&, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place);
// "in[0] of every rank", "in[3] of ranks 0 to 2 and 5 and in[1] of rank 4 (3 times)": sorted by leaf, long ones cut
// short.
std::string contributions_name(const Tables&, std::span<const Contribution>);
// "a, b, c and 12 more"
std::string list_of(const std::vector<std::string>& names);
// What the contract promises, in a sentence: "allreduce: every rank's out is the reduction of all ranks' in"
std::string rule_of(const Contract&);

// Refuses (or says that it cannot be judged) for a reason at one instruction.
bool refuse_at(const Tables&, VerifyResult&, Fault, uint32_t instruction, std::vector<std::string> lines);
// Likewise for a reason that is not about one instruction.
bool refuse(VerifyResult&, Fault, std::vector<std::string> lines);

}  // namespace coll::verifier
