#pragma once
// Plan IR: who does it, in which lane, over which connection, waiting for what. This is what is verified and run.
//
// A rank has *lanes* (a thread block, a cooperative task); a lane runs its instructions in order, once per tile, tiles
// outermost. Lanes of a rank wait for each other by (lane, step) dependences. Staged data crosses ranks over
// *connections*: FIFOs of message slots with one sending and one receiving lane. Direct accesses (put, get) touch a
// peer's memory and are ordered by *counters* (signal, wait). Nothing here knows where ranks are placed.
//
// Every rule that a plan must obey is in ir/README.md; ir/verify.h checks them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/contract.h"
#include "ir/extent.h"
#include "ir/schedule.h"
#include "ir/support/ids.h"
#include "ir/support/source.h"

namespace coll {

// name, text mnemonic, and which FIFO ends it uses. See opcodes.def.
enum class Opcode : uint8_t {
#define OPCODE(id, mnemonic, takes, gives, reduces) id,
#include "ir/opcodes.def"
#undef OPCODE
};

struct OpcodeInfo {
  const char* mnemonic;
  bool takes;    // reads one message of a connection
  bool gives;    // writes one message to a connection
  bool reduces;  // folds its sources with the operator; otherwise exactly one source
};
const OpcodeInfo& info(Opcode);

// Where an operand lies.
enum class Space : uint8_t {
  kLocal,       // own memory: buffer, place
  kConnection,  // the message of a connection (id in `rank`): received if a source, sent if a destination
  kPeer,        // memory of `rank`: buffer, place (put, get)
  kGroup,       // the same place on every rank of the group (id in `rank`): multicast destination, in-switch source
};

struct Operand {
  Space space = Space::kLocal;
  uint16_t buffer = 0;  // buffers::kIn, kOut, kScratch
  uint32_t rank = 0;    // kPeer: peer; kConnection: ConnectionId; kGroup: GroupId
  uint32_t place = 0;   // first place; the instruction's `length` places follow
  bool operator==(const Operand&) const = default;
};

// The instruction with this step of that lane of the same rank must have finished (in the same tile).
struct After {
  uint32_t lane = 0;  // index among the lanes of the rank
  uint32_t step = 0;
  auto operator<=>(const After&) const = default;
};

// Instruction::first_part: every place moves the grid's longest extent (only scratch is involved).
inline constexpr uint32_t kLongestPart = 0xffffffffu;

// One instruction. In one tile it moves `length` consecutive places; for place i of each operand it moves the elements
// of extent part (first_part + i) mod parts of its grid. Data of part p may lie in or move to a place of part j <= p of
// a user buffer (its extent is no shorter, for every count), and to any place of scratch.
// sources -> destinations, in listed order; a reduction is a left fold over the sources, rounded once. An instruction
// with a connection on both sides acquires both, then acts. A message is as long as its extents: both ends know it,
// and an empty one is neither sent nor received.
struct Instruction {
  Opcode op = Opcode::kCopy;
  uint8_t source_count = 0, destination_count = 0;
  uint8_t reserved = 0;
  uint16_t grid = 0;
  uint16_t after_count = 0;
  uint32_t first_operand = 0;  // into Plan::operands: sources, then destinations
  uint32_t first_after = 0;    // into Plan::after
  uint32_t first_part = 0;     // which part of the grid the first place's extent is
  uint32_t length = 1;
  uint32_t counter = 0;  // signal, wait: CounterId
  uint32_t value = 0;    // wait: at least this many signals in this tile of this call (from 1)
  uint32_t line = 0;     // LineId
  // Position in the witness: a global order in which the plan runs with its `slots_needed`. Unique.
  uint32_t order = 0;
};

// Instructions of a lane are contiguous in Plan::instructions; lanes of a rank are contiguous in Plan::lanes.
struct Lane {
  uint32_t rank = 0;
  uint32_t first = 0, count = 0;
  bool operator==(const Lane&) const = default;
};

struct Connection {
  uint32_t source = 0, destination = 0;  // ranks
  uint32_t channel = 0;                  // tells connections of the same pair apart
  std::string protocol = "simple";
  bool operator==(const Connection&) const = default;
};

// A monotonic counter in the memory of `owner`, whose lane waits for it; `signaller` is the rank that adds to it.
struct Counter {
  uint32_t owner = 0, signaller = 0;
  std::string name;
  bool operator==(const Counter&) const = default;
};

// Ranks whose memory is bound for multicast and in-switch reduction.
struct Group {
  std::vector<uint32_t> ranks;
  bool operator==(const Group&) const = default;
};

struct Plan {
  static constexpr uint32_t kVersion = 1;

  std::string name;
  Contract contract;
  std::vector<Grid> grids{1};
  uint32_t instances = 1;
  bool inplace = false;                  // may be called in place
  uint32_t slots_needed = 1;             // least k with which the plan runs, as found by lowering
  std::vector<uint32_t> scratch_places;  // per rank
  std::vector<Lane> lanes;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<After> after;
  std::vector<Connection> connections;
  std::vector<Counter> counters;
  std::vector<Group> groups;
  LineTable lines;
  uint32_t only_rank = kAllRanks;  // one rank's part: not verified alone
  uint64_t family_hash = 0;

  // Derived, by finish(): lanes of rank r are lanes[rank_lanes[r] .. rank_lanes[r + 1]).
  std::vector<uint32_t> rank_lanes;
  uint32_t max_message_parts = 1;  // longest `length` of an instruction with a connection

  uint32_t ranks() const { return contract.ranks; }
  uint32_t places(uint32_t rank, uint16_t buffer, uint16_t grid) const;

  std::span<const Operand> sources(const Instruction& i) const {
    return {operands.data() + i.first_operand, i.source_count};
  }
  std::span<const Operand> destinations(const Instruction& i) const {
    return {operands.data() + i.first_operand + i.source_count, i.destination_count};
  }
  std::span<const After> afters(const Instruction& i) const { return {after.data() + i.first_after, i.after_count}; }
  std::span<const Lane> lanes_of(uint32_t rank) const {
    return {lanes.data() + rank_lanes[rank], rank_lanes[rank + 1] - rank_lanes[rank]};
  }
  uint32_t lane_in_rank(uint32_t lane) const { return lane - rank_lanes[lanes[lane].rank]; }

  // Computes the derived fields. Lanes must be sorted by rank already.
  void finish();

  // Most channels of any ordered pair of ranks.
  uint32_t channels_per_pair_max() const;

  // Features that a reader must know to run it: "direct", "multicast".
  bool has_direct() const;
  bool has_groups() const { return !groups.empty(); }
};

// Text form; parse_plan(print_plan(p)) prints to the same bytes. The reader is in ir/plan_text.h.
std::string print_plan(const Plan&);

}  // namespace coll
