#pragma once
// What every step of the verifier looks up: who is at the two ends of each connection and counter, which instruction
// a receive or a wait is joined to, and where each place lies in flat arrays. Filled by the structure check
// (verify_structure.cpp), which refuses a plan for which they do not exist; after it no step can index out of range.
#include <cstdint>
#include <vector>

#include "ir/plan.h"
#include "ir/verify.h"

namespace coll::verifier {

inline constexpr uint32_t kNone = 0xffffffffu;

struct ConnectionEnds {
  uint32_t send_lane = kNone, receive_lane = kNone;
  uint32_t messages = 0;  // sent, and after the structure check as many received, in one tile
};

struct CounterEnds {
  uint32_t signal_lane = kNone, wait_lane = kNone;
  uint32_t signals = 0;  // in one tile
};

// The ends of connections that an instruction uses, apart from the 88 bytes of the instruction and its operands: the
// replays read nothing else for most instructions.
struct Ends {
  uint32_t take = kNone, give = kNone;
};

// A place of the memory of one rank, with the grid's offset already applied for `in` and `out`.
struct Tables {
  explicit Tables(const Plan& p) : plan(p) {}

  const Plan& plan;
  std::vector<uint32_t> rank_lanes;  // lanes of rank r: [rank_lanes[r], rank_lanes[r + 1])
  std::vector<uint32_t> lane_of;     // of each instruction
  std::vector<Ends> ends;
  std::vector<uint8_t> flags;  // of each instruction: kHasAfter | kSignals | kWaits; 0 for most
  // For a receive the instruction that sends the message, for a wait the v-th signal: the instruction of another lane
  // that happens before. kNone for all others.
  std::vector<uint32_t> partner;
  std::vector<ConnectionEnds> connections;
  std::vector<CounterEnds> counters;

  std::vector<uint32_t> in_blocks, out_blocks;  // of each rank
  std::vector<uint32_t> parts_before;           // parts of all earlier grids; one more entry for the sum
  // First flat index of each rank's places; one more entry for the sum. A leaf is a place of `in`.
  std::vector<uint32_t> in_base, out_base, scratch_base;

  bool reaches_peers = false;  // puts, gets or groups
  bool many_lanes = false;     // a rank has more than one

  static constexpr uint8_t kHasAfter = 1, kSignals = 2, kWaits = 4;

  uint32_t size() const { return static_cast<uint32_t>(plan.instructions.size()); }
  uint32_t rank_of(uint32_t instruction) const { return plan.lanes[lane_of[instruction]].rank; }
  uint32_t step_of(uint32_t instruction) const { return instruction - plan.lanes[lane_of[instruction]].first; }
  uint32_t first_of_rank(uint32_t rank) const {
    uint32_t lane = rank_lanes[rank];
    return lane < plan.lanes.size() ? plan.lanes[lane].first : size();
  }

  uint32_t in_index(uint32_t rank, uint32_t grid, uint32_t place) const {
    return in_base[rank] + in_blocks[rank] * parts_before[grid] + place;
  }
  uint32_t out_index(uint32_t rank, uint32_t grid, uint32_t place) const {
    return out_base[rank] + out_blocks[rank] * parts_before[grid] + place;
  }
  // The place of `out` that lies on this place of `in` when called in place; kNone if there is none.
  uint32_t alias_of_in(uint32_t rank, uint32_t grid, uint32_t place) const {
    uint32_t parts = plan.grids[grid].parts;
    int64_t shifted = static_cast<int64_t>(place) + plan.contract.inplace_shift(rank) * parts;
    if (shifted < 0 || shifted >= static_cast<int64_t>(out_blocks[rank]) * parts) return kNone;
    return static_cast<uint32_t>(shifted);
  }

  // The instruction that an `after` of an instruction of this rank names.
  uint32_t target(uint32_t rank, const After& after) const {
    return plan.lanes[rank_lanes[rank] + after.lane].first + after.step;
  }
};

// Which part's extent place i of an instruction moves; kLongestPart moves what part 0 is long.
inline uint32_t moved_part(const Instruction& i, uint32_t parts, uint32_t index) {
  if (i.first_part == kLongestPart) return 0;
  uint32_t part = i.first_part + index;
  return part < parts ? part : part % parts;
}

// Each of these returns true if nothing is wrong; otherwise `result` has the verdict and the story.
bool check_structure(Tables&, const VerifyOptions&, VerifyResult&);
bool check_races(const Tables&, const std::vector<uint32_t>& order, uint32_t calls, VerifyResult&);
// Also fills exact, bits_shared, bits_equal and bits_note.
bool check_contents(const Tables&, const std::vector<uint32_t>& order, const VerifyOptions&, VerifyResult&);

}  // namespace coll::verifier
