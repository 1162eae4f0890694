// Virtual scratch places become real ones.
//
// Places that one operand covers stay together; each such group lives from its first to its last access. Its room is
// given to a later group of the same size only if both are the business of one lane: then the lane's own order keeps
// them apart and the reuse costs no waiting. (Reuse across lanes would add dependences that the program does not have.)
// Memory that peers touch is never reused within a call.
#include <algorithm>
#include <map>
#include <queue>

#include "passes/steps.h"

namespace coll {

namespace {

struct Group {
  uint32_t first = 0, length = 0;      // virtual places
  uint32_t begin = kNoIndex, end = 0;  // first and last action, by place in the sequence
  uint32_t lane = kNoIndex;            // the one lane that touches it
  bool several_lanes = false;
  uint32_t real = 0;
};

bool stores(const Action& a) { return a.fused_send == kNoIndex || a.store; }

template <class F>
void for_each_scratch(Draft& draft, const Action& a, F f) {
  uint32_t n = 0;
  for (Operand& o : draft.all_operands(a)) {
    bool destination = n++ >= a.source_count;
    if (o.space != Space::kLocal || o.buffer != buffers::kScratch) continue;
    if (destination && !stores(a)) continue;
    f(o);
  }
}

void allocate_rank(Draft& draft, uint32_t rank) {
  uint32_t begin = draft.sequence_begin[rank], end = draft.sequence_begin[rank + 1];
  uint32_t places = draft.scratch_places[rank];
  std::vector<uint8_t> used(places, 0), joined(places, 0);  // joined: in one group with the next place
  for (uint32_t i = begin; i < end; ++i) {
    const Action& a = draft.actions[draft.sequence[i]];
    for_each_scratch(draft, a, [&](Operand& o) {
      for (uint32_t p = 0; p < a.length; ++p) {
        used[o.place + p] = 1;
        if (p + 1 < a.length) joined[o.place + p] = 1;
      }
    });
  }
  std::vector<Group> groups;
  std::vector<uint32_t> group_of(places, kNoIndex);
  for (uint32_t p = 0; p < places; ++p) {
    if (!used[p]) continue;
    if (p > 0 && used[p - 1] && joined[p - 1]) {
      ++groups.back().length;
    } else {
      Group g;
      g.first = p;
      g.length = 1;
      groups.push_back(g);
    }
    group_of[p] = static_cast<uint32_t>(groups.size() - 1);
  }
  std::vector<uint32_t> by_begin;
  for (uint32_t i = begin; i < end; ++i) {
    const Action& a = draft.actions[draft.sequence[i]];
    for_each_scratch(draft, a, [&](Operand& o) {
      Group& g = groups[group_of[o.place]];
      if (g.begin == kNoIndex) {
        g.begin = i;
        g.lane = a.lane;
        by_begin.push_back(group_of[o.place]);
      }
      g.several_lanes |= g.lane != a.lane;
      g.end = i;
    });
  }
  using Expiry = std::pair<uint32_t, uint32_t>;  // last action, group
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> live;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> free_room;  // (lane, length) -> real places
  uint32_t real = 0;
  for (uint32_t index : by_begin) {
    Group& g = groups[index];
    while (!live.empty() && live.top().first < g.begin) {
      const Group& done = groups[live.top().second];
      live.pop();
      if (!done.several_lanes) free_room[{done.lane, done.length}].push_back(done.real);
    }
    auto room = free_room.find({g.lane, g.length});
    if (room != free_room.end() && !room->second.empty()) {
      g.real = room->second.back();
      room->second.pop_back();
    } else {
      g.real = real;
      real += g.length;
    }
    live.push({g.end, index});
  }
  for (uint32_t i = begin; i < end; ++i) {
    const Action& a = draft.actions[draft.sequence[i]];
    for_each_scratch(draft, a, [&](Operand& o) {
      const Group& g = groups[group_of[o.place]];
      o.place = g.real + (o.place - g.first);
    });
  }
  draft.scratch_places[rank] = real;
}

}  // namespace

void allocate_scratch(Draft& draft) {
  if (draft.direct) return;  // peers address it: direct.cpp has laid it out
  for (uint32_t rank = 0; rank < draft.ranks(); ++rank) {
    if (draft.scratch_places[rank] > 0) allocate_rank(draft, rank);
  }
}

}  // namespace coll
