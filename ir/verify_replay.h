#pragma once
// Replays: a plan's lanes run against each other with counters and message counts only, in O(instructions).
#include <cstdint>
#include <vector>

#include "ir/verify_tables.h"

namespace coll::verifier {

class Replay {
 public:
  static constexpr uint32_t kUnlimited = 0;

  explicit Replay(const Tables&);

  // Runs every lane as far as it goes with this many slots per connection. True if all of them end. Because of rules
  // (i) to (iv) an instruction that can act stays able to until it does, so every maximal run ends in the same state.
  bool run(uint32_t slots, std::vector<uint32_t>* order = nullptr);

  // After a run that did not end: the shortest cycle of lanes waiting for each other.
  bool tell_deadlock(uint32_t slots, VerifyResult&) const;

  // The least number of slots with which the plan ends; it must end with unlimited ones. More slots never hurt: a
  // state reached with k is reached with k + 1.
  uint32_t least_slots();

 private:
  struct Connection {
    uint32_t sent = 0, received = 0;
    uint32_t send_lane = kNone, receive_lane = kNone;
    bool sender_waits = false, receiver_waits = false;
  };
  struct Counter {
    uint32_t value = 0, awaited = 0;  // awaited: 0 while nobody waits
    uint32_t wait_lane = kNone;
  };
  // One reason why a lane does not go on.
  struct Wait {
    enum class Kind : uint8_t { kMessage, kSlot, kAfter, kSignal } kind;
    uint32_t lane;  // for whom it waits
    uint32_t id;    // connection, or the instruction that must come first
  };

  void advance(uint32_t lane, uint32_t slots, std::vector<uint32_t>* order);
  bool may_act(uint32_t lane, uint32_t instruction);
  void wake(uint32_t lane);
  void wake_afters(uint32_t lane);
  std::vector<Wait> waits_of(uint32_t lane, uint32_t slots) const;
  std::string describe(uint32_t lane, const Wait&, uint32_t slots) const;

  const Tables& t_;
  std::vector<Connection> connections_;
  std::vector<Counter> counters_;
  std::vector<uint32_t> done_;  // steps of each lane
  // Lanes that wait for a step of this one: a list through next_waiter_, and the least step count that any waits for.
  std::vector<uint32_t> first_waiter_, next_waiter_, awaited_step_, wake_at_;
  std::vector<uint32_t> queue_;
  std::vector<uint8_t> queued_;
  size_t head_ = 0, waiting_ = 0;
  uint64_t finished_ = 0;
};

}  // namespace coll::verifier
