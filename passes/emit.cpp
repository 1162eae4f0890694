// Finds which action must wait for which, and writes the Plan.
//
// Within a rank, an action depends on the last writer of what it reads (read after write), on the last writer and the
// readers since of what it writes (write after write, write after read). Only dependences between lanes are written
// down, and only those that are not implied: every action has a clock, which step of each lane it is known to come
// after; a dependence that the clock covers already is dropped. Cost O(actions x lanes) a rank.
#include <algorithm>

#include "ir/support/check.h"
#include "passes/steps.h"

namespace coll {

namespace {

Opcode fused_opcode(const Action& a) {
  if (a.fused_send == kNoIndex) return a.op;
  switch (a.op) {
    case Opcode::kRecv:
      return a.store ? Opcode::kRecvCopySend : Opcode::kRecvSend;
    case Opcode::kRecvReduce:
      return a.store ? Opcode::kRecvReduceCopySend : Opcode::kRecvReduceSend;
    case Opcode::kReduce:
      return a.store ? Opcode::kReduceCopySend : Opcode::kReduceSend;
    default:
      COLL_CHECK(false, "only receives and reductions are fused with a send");
  }
}

// Dependences of the actions of one rank; made once for all ranks, so that its memory is touched once.
class Dependences {
 public:
  explicit Dependences(const Draft& draft) : draft_(draft) {}

  // `actions`: the rank's, in order; `step_of`: each one's step in its lane. Appends to `after`, gives counts.
  void find(uint32_t rank, const std::vector<uint32_t>& actions, const std::vector<uint32_t>& step_of,
            std::vector<After>& after, std::vector<uint16_t>& counts, std::vector<uint32_t>& firsts) {
    lanes_ = draft_.lane_count[rank];
    pool_.clear();
    Locations locations(draft_, rank, 0);
    writer_.assign(locations.count(), kNoIndex);
    readers_.assign(locations.count(), kNoIndex);
    clocks_.clear();
    snapshot_of_.assign(actions.size(), kNoIndex);
    std::vector<uint32_t> snapshot_of_lane(lanes_, kNoIndex);
    for (uint32_t n = 0; n < actions.size(); ++n) {
      const Action& a = draft_.actions[actions[n]];
      candidates_.clear();
      bool stores = a.fused_send == kNoIndex || a.store;
      for_each_location(locations, a, draft_.sources(a), [&](uint32_t l) { candidate(writer_[l]); });
      if (stores) {
        for_each_location(locations, a, draft_.destinations(a), [&](uint32_t l) {
          candidate(writer_[l]);
          for (uint32_t e = readers_[l]; e != kNoIndex; e = pool_[e].second) candidate(pool_[e].first);
        });
      }
      // Latest first: what the latest one is known to come after needs no dependence of its own.
      std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
      candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
      firsts.push_back(static_cast<uint32_t>(after.size()));
      uint32_t snapshot = snapshot_of_lane[a.lane];
      bool own_snapshot = false;
      for (uint32_t c : candidates_) {
        uint32_t other = draft_.actions[actions[c]].lane;
        if (other == a.lane) continue;
        if (snapshot != kNoIndex && clocks_[snapshot + other] > step_of[c]) continue;
        after.push_back({other, step_of[c]});
        if (!own_snapshot) snapshot = copy_of(snapshot);
        own_snapshot = true;
        if (uint32_t known = snapshot_of_[c]; known != kNoIndex)
          for (uint32_t l = 0; l < lanes_; ++l)
            clocks_[snapshot + l] = std::max(clocks_[snapshot + l], clocks_[known + l]);
        clocks_[snapshot + other] = std::max(clocks_[snapshot + other], step_of[c] + 1);
      }
      std::sort(after.begin() + firsts.back(), after.end());
      COLL_CHECK(after.size() - firsts.back() <= UINT16_MAX, "an instruction waits for at most one step of each lane");
      counts.push_back(static_cast<uint16_t>(after.size() - firsts.back()));
      snapshot_of_[n] = snapshot_of_lane[a.lane] = snapshot;
      for_each_location(locations, a, draft_.sources(a), [&](uint32_t l) {
        pool_.emplace_back(n, readers_[l]);
        readers_[l] = static_cast<uint32_t>(pool_.size() - 1);
      });
      if (stores) {
        for_each_location(locations, a, draft_.destinations(a), [&](uint32_t l) {
          writer_[l] = n;
          readers_[l] = kNoIndex;
        });
      }
    }
  }

 private:
  template <class F>
  void for_each_location(const Locations& locations, const Action& a, std::span<const Operand> operands, F f) {
    for (const Operand& o : operands) {
      if (!is_own(o)) continue;
      for (uint32_t i = 0; i < a.length; ++i) f(locations.of(o.buffer, o.place + i));
    }
  }
  // A new clock that starts as the given one (kNoIndex: as nothing).
  uint32_t copy_of(uint32_t snapshot) {
    uint32_t fresh = static_cast<uint32_t>(clocks_.size());
    clocks_.resize(clocks_.size() + lanes_, 0);
    if (snapshot != kNoIndex)
      std::copy(clocks_.begin() + snapshot, clocks_.begin() + snapshot + lanes_, clocks_.begin() + fresh);
    return fresh;
  }
  void candidate(uint32_t n) {
    if (n != kNoIndex) candidates_.push_back(n);
  }

  const Draft& draft_;
  uint32_t lanes_ = 0;
  std::vector<uint32_t> writer_, readers_;           // of each location: index among the rank's actions / into pool_
  std::vector<std::pair<uint32_t, uint32_t>> pool_;  // (reader, next)
  // Clocks change only where an action waits, so the actions of a lane share one until then: `snapshot_of_` an action
  // is where its clock begins in `clocks_` (kNoIndex: it has waited for nothing). Its own lane's entry is its own step.
  std::vector<uint32_t> clocks_, snapshot_of_, candidates_;
};

class Emitter {
 public:
  explicit Emitter(const Draft& draft) : draft_(draft), dependences_(draft) {}

  Plan run() {
    const Schedule& s = *draft_.schedule;
    plan_.name = s.name;
    plan_.contract = s.contract;
    plan_.grids = s.grids;
    plan_.instances = s.instances;
    plan_.inplace = draft_.inplace;
    plan_.scratch_places = draft_.scratch_places;
    plan_.counters = draft_.counters;
    plan_.groups = draft_.groups;
    plan_.lines = s.lines;
    plan_.only_rank = s.only_rank;
    plan_.family_hash = s.family_hash;
    for (const DraftConnection& c : draft_.connections) {
      if (draft_.direct) break;
      plan_.connections.push_back({c.source, c.destination, c.channel, c.protocol});
    }
    plan_.instructions.reserve(draft_.sequence.size());
    plan_.operands.reserve(draft_.sequence.size() * 5 / 2);
    for (uint32_t rank = 0; rank < draft_.ranks(); ++rank) emit_rank(rank);
    plan_.finish();
    return std::move(plan_);
  }

 private:
  void emit_rank(uint32_t rank) {
    uint32_t lanes = draft_.lane_count[rank];
    actions_.clear();
    actions_.assign(draft_.sequence.begin() + draft_.sequence_begin[rank],
                    draft_.sequence.begin() + draft_.sequence_begin[rank + 1]);
    if (actions_.empty()) return;
    std::vector<uint32_t> lane_size(lanes, 0);
    step_of_.clear();
    for (uint32_t i : actions_) step_of_.push_back(lane_size[draft_.actions[i].lane]++);
    after_.clear();
    counts_.clear();
    firsts_.clear();
    if (lanes > 1) dependences_.find(rank, actions_, step_of_, after_, counts_, firsts_);

    uint32_t base = static_cast<uint32_t>(plan_.instructions.size());
    std::vector<uint32_t> lane_first(lanes, base);
    for (uint32_t l = 0; l < lanes; ++l) {
      if (l > 0) lane_first[l] = lane_first[l - 1] + lane_size[l - 1];
      plan_.lanes.push_back({rank, lane_first[l], lane_size[l]});
    }
    plan_.instructions.resize(base + actions_.size());
    for (uint32_t n = 0; n < actions_.size(); ++n) {
      const Action& a = draft_.actions[actions_[n]];
      emit_action(a, n, plan_.instructions[lane_first[a.lane] + step_of_[n]]);
    }
  }

  void emit_action(const Action& a, uint32_t n, Instruction& i) {
    i.op = fused_opcode(a);
    i.grid = a.grid;
    i.first_part = a.first_part;
    i.length = a.length;
    i.line = a.line;
    i.order = order_++;
    i.counter = a.counter;
    i.value = a.value;
    i.first_operand = static_cast<uint32_t>(plan_.operands.size());
    i.first_after = static_cast<uint32_t>(plan_.after.size());
    if (!counts_.empty()) {
      i.after_count = counts_[n];
      plan_.after.insert(plan_.after.end(), after_.begin() + firsts_[n], after_.begin() + firsts_[n] + counts_[n]);
    }
    if (a.op == Opcode::kSignal || a.op == Opcode::kWait) return;  // their operands only told dependences
    for (const Operand& o : draft_.sources(a)) add(o);
    i.source_count = a.source_count;
    for (const Operand& o : draft_.destinations(a)) {
      if (o.space == Space::kLocal && a.fused_send != kNoIndex && !a.store) continue;
      add(o);
      ++i.destination_count;
    }
    if (a.fused_send != kNoIndex) {
      add({Space::kConnection, 0, a.message_out, 0});
      ++i.destination_count;
    }
  }

  void add(Operand o) {
    if (o.space == Space::kConnection) o.rank = draft_.messages[o.rank].connection;
    plan_.operands.push_back(o);
  }

  const Draft& draft_;
  Dependences dependences_;
  Plan plan_;
  uint32_t order_ = 0;
  std::vector<uint32_t> actions_, step_of_, firsts_;
  std::vector<uint16_t> counts_;
  std::vector<After> after_;
};

}  // namespace

Plan emit(const Draft& draft) { return Emitter(draft).run(); }

}  // namespace coll
