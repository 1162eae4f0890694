#pragma once
// Happens-before across ranks, asked on demand.
//
// Edges: the order of a lane; `after`; message n sent -> message n received; v-th signal -> wait for v; the end of a
// call on a rank (all its lanes) -> the begin of its next call. Never: a slot was freed -> the next send. A freed slot
// is there for any number of slots but one in particular, and a verdict must hold for all of them.
//
// A question "are these all before b?" walks backward from b. All predecessors are computable from the tables, so no
// graph is stored. The walk keeps for each lane how many of its steps are known to be before b (reaching a step reaches
// all earlier ones), so each instruction is looked at most once, and it stops at instructions whose level (longest path
// from the start) is not above the lowest one asked for. Before it walks it looks where the answer nearly always lies:
// at the last thing that b's lane heard from the very rank that is asked about. (In a ring of puts that is the `ready`
// at the lane's begin, and the walk would first go back round the ring: 12.8 s at 512 ranks.) Dense vector clocks would
// answer in constant time and need instructions x lanes entries: 18.6 s at 2,048 ranks.
#include <cstdint>
#include <vector>

#include "ir/verify_tables.h"

namespace coll::verifier {

struct Node {
  uint32_t instruction = kNone;
  uint32_t call = 0;
  bool operator==(const Node&) const = default;
};

class HappensBefore {
 public:
  HappensBefore(const Tables&, const std::vector<uint32_t>& order, uint32_t calls);

  // Removes from `earlier` the nodes that happen before `later`; true if none is left. All must come earlier in the
  // replay.
  bool all_before(Node later, std::vector<Node>& earlier);
  // True if `rank` has entered the call whenever `later` runs.
  bool entered_before(Node later, uint32_t rank);
  // Removes the nodes (of call 0) that happen before the end of call 0 on `rank`; true if none is left.
  bool all_before_exit(uint32_t rank, std::vector<Node>& earlier);

 private:
  // Steps of a lane that are to be looked at; or, with lane kNone, all lanes of rank `from`: a rank that has entered a
  // call has finished the one before, which is looked at only if that alone does not answer the question.
  struct Span {
    uint32_t call, lane, from, to;
  };
  void start(uint32_t min_call);
  void reach(uint32_t call, uint32_t lane, uint32_t count);
  void reach_predecessors(Node node);
  // Reaches the last signal or message of `rank` that `lane` has taken in before `step`, if there is one.
  void reach_last_heard(uint32_t call, uint32_t lane, uint32_t step, uint32_t rank);
  // Walks on until `done` says so or nothing is left; instructions at or below `min_level` lead nowhere.
  template <class Done>
  void walk(uint32_t min_level, Done done);
  bool known(Node node) const;
  uint32_t level(Node node) const { return levels_[static_cast<size_t>(node.call) * t_.size() + node.instruction]; }
  uint32_t lowest(const std::vector<Node>& nodes) const;
  bool find(std::vector<Node>& earlier);

  struct Heard {
    uint32_t from_rank, step;
    auto operator<=>(const Heard&) const = default;
  };

  const Tables& t_;
  std::vector<uint32_t> levels_;
  // Of each lane: the steps that take in something of another rank, sorted by that rank.
  std::vector<Heard> heard_;
  std::vector<uint32_t> first_heard_;
  // Steps of each (call, lane) known to be before; valid if stamped with the current question. Likewise for ranks
  // whose begin of the call is known to be before.
  std::vector<uint32_t> reached_, lane_stamp_, rank_stamp_;
  std::vector<Span> work_;  // a queue; everything before next_ is done
  size_t next_ = 0;
  uint32_t question_ = 0, min_call_ = 0;
};

}  // namespace coll::verifier
