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
// from the start) is not above the lowest one asked for. It goes breadth first and asks after every edge whether it is
// done: most questions are answered by the wait just before b. Dense vector clocks would answer in constant time and
// need instructions x lanes entries: 18.6 s at 2,048 ranks.
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
  struct Span {
    uint32_t call, lane, from, to;
  };
  void start(uint32_t min_call);
  void reach(uint32_t call, uint32_t lane, uint32_t count);
  void reach_predecessors(Node node);
  // Walks on until `done` says so or nothing is left; instructions at or below `min_level` lead nowhere.
  template <class Done>
  void walk(uint32_t min_level, Done done);
  bool known(Node node) const;
  uint32_t level(Node node) const { return levels_[static_cast<size_t>(node.call) * t_.size() + node.instruction]; }
  uint32_t lowest(const std::vector<Node>& nodes) const;
  bool find(std::vector<Node>& earlier);

  const Tables& t_;
  std::vector<uint32_t> levels_;
  // Steps of each (call, lane) known to be before; valid if stamped with the current question. Likewise for ranks
  // whose begin of the call is known to be before.
  std::vector<uint32_t> reached_, lane_stamp_, rank_stamp_;
  std::vector<Span> work_;  // a queue; everything before next_ is done
  size_t next_ = 0;
  uint32_t question_ = 0, min_call_ = 0;
};

}  // namespace coll::verifier
