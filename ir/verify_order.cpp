#include "ir/verify_order.h"

#include <algorithm>

namespace coll::verifier {

HappensBefore::HappensBefore(const Tables& t, const std::vector<uint32_t>& order, uint32_t calls) : t_(t) {
  size_t n = t.size();
  levels_.assign(n * calls, 0);
  std::vector<uint32_t> begin(t.plan.ranks(), 0), end(t.plan.ranks(), 0);
  for (uint32_t call = 0; call < calls; ++call) {
    uint32_t* levels = levels_.data() + n * call;
    for (uint32_t i : order) {
      uint32_t rank = t.rank_of(i);
      uint32_t level = t.step_of(i) > 0 ? levels[i - 1] : begin[rank];
      for (const After& a : t.plan.afters(t.plan.instructions[i])) level = std::max(level, levels[t.target(rank, a)]);
      if (t.partner[i] != kNone) level = std::max(level, levels[t.partner[i]]);
      levels[i] = level + 1;
      end[rank] = std::max(end[rank], level + 1);
    }
    begin = end;
  }
  for (const Lane& lane : t.plan.lanes) {
    first_heard_.push_back(static_cast<uint32_t>(heard_.size()));
    for (uint32_t i = lane.first; i < lane.first + lane.count; ++i)
      if (t.partner[i] != kNone) heard_.push_back({t.rank_of(t.partner[i]), i - lane.first});
    std::sort(heard_.begin() + first_heard_.back(), heard_.end());
  }
  first_heard_.push_back(static_cast<uint32_t>(heard_.size()));
  reached_.assign(t.plan.lanes.size() * calls, 0);
  lane_stamp_.assign(t.plan.lanes.size() * calls, 0);
  rank_stamp_.assign(static_cast<size_t>(t.plan.ranks()) * calls, 0);
}

void HappensBefore::start(uint32_t min_call) {
  ++question_;
  min_call_ = min_call;
  work_.clear();
  next_ = 0;
}

void HappensBefore::reach(uint32_t call, uint32_t lane, uint32_t count) {
  size_t at = static_cast<size_t>(call) * t_.plan.lanes.size() + lane;
  if (lane_stamp_[at] != question_) {
    lane_stamp_[at] = question_;
    reached_[at] = 0;
  }
  if (count > reached_[at]) {
    work_.push_back({call, lane, reached_[at], count});
    reached_[at] = count;
  }
  uint32_t rank = t_.plan.lanes[lane].rank;
  uint32_t& stamp = rank_stamp_[static_cast<size_t>(call) * t_.plan.ranks() + rank];
  if (stamp == question_) return;
  stamp = question_;
  if (call > min_call_) work_.push_back({call - 1, kNone, rank, rank});
}

void HappensBefore::reach_predecessors(Node node) {
  uint32_t i = node.instruction, rank = t_.rank_of(i);
  if (t_.flags[i] & Tables::kHasAfter)
    for (const After& a : t_.plan.afters(t_.plan.instructions[i]))
      reach(node.call, t_.rank_lanes[rank] + a.lane, a.step + 1);
  if (uint32_t partner = t_.partner[i]; partner != kNone)
    reach(node.call, t_.lane_of[partner], t_.step_of(partner) + 1);
}

void HappensBefore::reach_last_heard(uint32_t call, uint32_t lane, uint32_t step, uint32_t rank) {
  auto begin = heard_.begin() + first_heard_[lane], end = heard_.begin() + first_heard_[lane + 1];
  auto after = std::lower_bound(begin, end, Heard{rank, step});
  if (after == begin || (after - 1)->from_rank != rank) return;
  reach_predecessors({t_.plan.lanes[lane].first + (after - 1)->step, call});
}

template <class Done>
void HappensBefore::walk(uint32_t min_level, Done done) {
  if (done()) return;
  for (; next_ < work_.size(); ++next_) {
    Span span = work_[next_];
    if (span.lane == kNone) {
      uint32_t rank = span.from;
      for (uint32_t l = t_.rank_lanes[rank]; l < t_.rank_lanes[rank + 1]; ++l)
        reach(span.call, l, t_.plan.lanes[l].count);
      continue;
    }
    uint32_t first = t_.plan.lanes[span.lane].first;
    for (uint32_t step = span.to; step-- > span.from;) {
      Node node{first + step, span.call};
      if (level(node) <= min_level) break;
      uint32_t i = node.instruction;
      if (t_.partner[i] == kNone && !(t_.flags[i] & Tables::kHasAfter)) continue;
      reach_predecessors(node);
      if (done()) return;
    }
  }
}

bool HappensBefore::known(Node node) const {
  size_t calls = rank_stamp_.size() / t_.plan.ranks();
  for (size_t later = node.call + 1; later < calls; ++later)
    if (rank_stamp_[later * t_.plan.ranks() + t_.rank_of(node.instruction)] == question_) return true;
  size_t at = static_cast<size_t>(node.call) * t_.plan.lanes.size() + t_.lane_of[node.instruction];
  return lane_stamp_[at] == question_ && reached_[at] > t_.step_of(node.instruction);
}

uint32_t HappensBefore::lowest(const std::vector<Node>& nodes) const {
  uint32_t least = UINT32_MAX;
  for (Node node : nodes) least = std::min(least, level(node));
  return least;
}

bool HappensBefore::find(std::vector<Node>& earlier) {
  walk(lowest(earlier), [&] {
    while (!earlier.empty() && known(earlier.back())) earlier.pop_back();
    return earlier.empty();
  });
  std::erase_if(earlier, [&](Node node) { return known(node); });
  return earlier.empty();
}

bool HappensBefore::all_before(Node later, std::vector<Node>& earlier) {
  uint32_t min_call = later.call;
  for (Node node : earlier) min_call = std::min(min_call, node.call);
  start(min_call);
  reach(later.call, t_.lane_of[later.instruction], t_.step_of(later.instruction));
  reach_predecessors(later);
  uint32_t asked = kNone;
  for (Node node : earlier) {
    uint32_t rank = t_.rank_of(node.instruction);
    if (rank == asked) continue;
    asked = rank;
    reach_last_heard(later.call, t_.lane_of[later.instruction], t_.step_of(later.instruction), rank);
  }
  return find(earlier);
}

bool HappensBefore::entered_before(Node later, uint32_t rank) {
  start(later.call);
  reach(later.call, t_.lane_of[later.instruction], t_.step_of(later.instruction));
  reach_predecessors(later);
  reach_last_heard(later.call, t_.lane_of[later.instruction], t_.step_of(later.instruction), rank);
  auto entered = [&] { return rank_stamp_[static_cast<size_t>(later.call) * t_.plan.ranks() + rank] == question_; };
  walk(0, entered);
  return entered();
}

bool HappensBefore::all_before_exit(uint32_t rank, std::vector<Node>& earlier) {
  start(0);
  for (uint32_t l = t_.rank_lanes[rank]; l < t_.rank_lanes[rank + 1]; ++l) reach(0, l, t_.plan.lanes[l].count);
  uint32_t asked = kNone;
  for (Node node : earlier) {
    uint32_t from = t_.rank_of(node.instruction);
    if (from == asked) continue;
    asked = from;
    for (uint32_t l = t_.rank_lanes[rank]; l < t_.rank_lanes[rank + 1]; ++l)
      reach_last_heard(0, l, t_.plan.lanes[l].count, from);
  }
  return find(earlier);
}

}  // namespace coll::verifier
