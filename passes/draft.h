#pragma once
// Draft: a Plan under construction. Every rank has its list of actions in program order; passes rewrite it step by
// step until it can be emitted. Internal to passes/.
//
// An action is an instruction whose connections are still *messages* (Operand::rank of a kConnection operand is a
// message id) and whose scratch places are still virtual (one for each place that the program names).
#include <cstdint>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "ir/schedule.h"

namespace coll {

inline constexpr uint32_t kNoIndex = 0xffffffffu;

struct Action {
  Opcode op = Opcode::kCopy;
  uint8_t source_count = 0, destination_count = 0;
  bool removed = false;  // merged into another action
  bool store = true;     // fused forms: false when nobody reads what would be stored (then it is not stored)
  bool may_fuse = true;  // cleared where a fusion needs more slots than the target has
  uint16_t grid = 0;
  uint16_t hint = 0;
  uint32_t rank = 0;
  uint32_t position = 0;  // in the program's order, over all ranks
  // Where the lane pass puts it: before what stands at position `at`, in the order of `before`; 0: at its own position.
  uint32_t at = 0;
  uint32_t before = 0;
  uint32_t first_operand = 0;
  uint32_t first_part = 0;
  uint32_t length = 1;
  uint32_t line = 0;
  uint32_t lane = kNoIndex;          // among the rank's lanes
  uint32_t message_in = kNoIndex;    // message received
  uint32_t message_out = kNoIndex;   // message sent
  uint32_t fused_send = kNoIndex;    // the send action that this one does too
  uint32_t counter = 0, value = 0;   // signal, wait
  uint32_t switch_owner = kNoIndex;  // part of an operation in the switch: the rank that starts it
};

struct Message {
  uint32_t source = 0, destination = 0;                        // ranks
  uint32_t send_action = kNoIndex, receive_action = kNoIndex;  // kNoIndex: on a rank that is not compiled
  uint32_t connection = kNoIndex;
  uint32_t length = 1;  // places: its load
  uint16_t hint = 0;
};

struct DraftConnection {
  uint32_t source = 0, destination = 0, channel = 0;
  int32_t lane_hint = -1;
  std::string protocol = "simple";
  uint64_t load = 0;                                       // places sent over it
  uint32_t send_lane = kNoIndex, receive_lane = kNoIndex;  // in its ranks, by the lane pass
};

struct Draft {
  const Schedule* schedule = nullptr;
  std::vector<Action> actions;       // by rank, then position
  std::vector<uint32_t> rank_begin;  // actions of rank r: [rank_begin[r], rank_begin[r + 1])
  // By the lane pass: the actions that are left, in the order in which their ranks run them, and each rank's part.
  std::vector<uint32_t> sequence, sequence_begin;
  std::vector<Operand> operands;
  std::vector<Message> messages;  // in program order
  std::vector<DraftConnection> connections;
  std::vector<Counter> counters;
  std::vector<Group> groups;
  std::vector<uint32_t> scratch_places;  // per rank: virtual, then (after allocate_scratch) real
  std::vector<uint32_t> lane_count;      // per rank
  bool inplace = false;
  bool direct = false;

  uint32_t ranks() const { return schedule->ranks(); }
  std::span<const Operand> sources(const Action& a) const { return {&operands[a.first_operand], a.source_count}; }
  std::span<const Operand> destinations(const Action& a) const {
    return {&operands[a.first_operand + a.source_count], a.destination_count};
  }
  std::span<Operand> all_operands(const Action& a) {
    return {&operands[a.first_operand], static_cast<size_t>(a.source_count) + a.destination_count};
  }
};

// True for an operand that is (also) memory of the action's own rank. A signal or wait of an operation that a peer does
// on our memory carries such operands, to tell what it stands for; they are not emitted.
inline bool is_own(const Operand& o) { return o.space == Space::kLocal || o.space == Space::kGroup; }

// Where a statement stands, for a caret; no place if the schedule was read back from text.
SourceRange range_of_line(const Schedule&, uint32_t line);
// Where the first statement stands that uses a connection.
SourceRange range_of_connection(const Draft&, uint32_t connection);

// Numbers the memory of one rank that dependences and lifetimes speak of: `out` places, then scratch places; when the
// plan may run in place, an `in` place is the `out` place that it lies on, else it has a number of its own.
class Locations {
 public:
  Locations(const Draft& draft, uint32_t rank, uint16_t grid);
  // Number of place `place` of a local buffer.
  uint32_t of(uint16_t buffer, uint32_t place) const {
    if (buffer == buffers::kOut) return place;
    if (buffer == buffers::kScratch) return out_ + place;
    int64_t alias = static_cast<int64_t>(place) + shift_;
    if (inplace_ && alias >= 0 && alias < static_cast<int64_t>(out_)) return static_cast<uint32_t>(alias);
    return out_ + scratch_ + place;
  }
  uint32_t count() const { return out_ + scratch_ + in_; }
  bool is_out(uint32_t location) const { return location < out_; }
  bool is_scratch(uint32_t location) const { return location >= out_ && location < out_ + scratch_; }

 private:
  uint32_t in_, out_, scratch_;
  int64_t shift_;
  bool inplace_;
};

}  // namespace coll
