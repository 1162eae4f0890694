#pragma once
// A small machine that runs a plan with lanes in random order, for tests of the verifier: shares no code with it.
//
// Every part of a grid has its own length (part p of P has P - p elements, as unequal as can be), so data cut off or
// moved into too short a place shows. Values are 64-bit integers, sums wrap. Ranks run several calls in a row without a
// barrier in between; each call has inputs and outputs of its own, outputs begin as garbage. A peer's access to a user
// buffer goes to the call that the owner is in just then; outside of any it is a violation.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/plan.h"

namespace coll::testing {

class PlanMachine {
 public:
  PlanMachine(const Plan& plan, uint32_t slots, uint32_t calls, bool inplace, uint64_t seed)
      : plan_(plan), slots_(slots), calls_(calls), inplace_(inplace), random_(seed) {
    uint32_t ranks = plan.ranks();
    states_.resize(ranks);
    steps_.assign(plan.lanes.size(), 0);
    fifos_.resize(plan.connections.size());
    counters_.assign(plan.counters.size(), 0);
    signals_.assign(plan.counters.size(), 0);
    for (const Instruction& i : plan.instructions)
      if (i.op == Opcode::kSignal) ++signals_[i.counter];
    for (uint32_t r = 0; r < ranks; ++r) {
      for (uint32_t p = 0; p < plan.scratch_places[r]; ++p) states_[r].scratch.push_back(garbage(longest()));
      enter(r, 0);
    }
    // Half of the lanes are slow.
    for (size_t l = 0; l < plan.lanes.size(); ++l) slow_.push_back(random_() % 2);
  }

  // Runs all calls; empty if every rank's outputs were right at the end of each of its calls.
  std::string run() {
    size_t idle = 0;
    while (finished_ < plan_.ranks()) {
      size_t lane = idle < 64 ? pick() : (idle - 64) % plan_.lanes.size();
      if (idle > 64 + plan_.lanes.size()) return "nothing can run";
      idle = step(lane) ? 0 : idle + 1;
      if (!fault_.empty()) return fault_;
    }
    return {};
  }

 private:
  using Cells = std::vector<uint64_t>;
  struct State {
    uint32_t call = 0;
    bool inside = false;
    std::vector<Cells> in, out, scratch;
  };

  // One grid only, which is all that these tests use.
  uint32_t parts() const { return plan_.grids[0].parts; }
  uint32_t longest() const { return parts(); }
  uint32_t length(uint32_t part) const { return parts() - part; }
  uint32_t moved(const Instruction& i, uint32_t n) const {
    return i.first_part == kLongestPart ? longest() : length((i.first_part + n) % parts());
  }
  Cells garbage(uint32_t n) {
    Cells cells;
    for (uint32_t e = 0; e < n; ++e) cells.push_back(random_());
    return cells;
  }
  // Input data: a function of everything that tells it apart.
  static uint64_t input(uint32_t call, uint32_t rank, uint32_t place, uint32_t element) {
    uint64_t x = ((call * 1000ull + rank) * 1000 + place) * 1000 + element;
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    return x ^ x >> 33;
  }

  void enter(uint32_t rank, uint32_t call) {
    State& s = states_[rank];
    s.call = call;
    s.inside = true;
    s.in.clear();
    s.out.clear();
    for (uint32_t p = 0; p < plan_.contract.in_blocks(rank) * parts(); ++p) {
      s.in.emplace_back();
      for (uint32_t e = 0; e < length(p % parts()); ++e) s.in[p].push_back(input(call, rank, p, e));
    }
    for (uint32_t p = 0; p < plan_.contract.out_blocks(rank) * parts(); ++p)
      s.out.push_back(garbage(length(p % parts())));
    for (uint32_t p = 0; p < s.in.size(); ++p)
      if (Cells* over = alias(rank, p)) *over = s.in[p];
  }
  Cells* alias(uint32_t rank, uint32_t in_place) {
    if (!inplace_) return nullptr;
    int64_t at = in_place + plan_.contract.inplace_shift(rank) * static_cast<int64_t>(parts());
    std::vector<Cells>& out = states_[rank].out;
    return at >= 0 && at < static_cast<int64_t>(out.size()) ? &out[static_cast<size_t>(at)] : nullptr;
  }

  Cells* cells(uint32_t lane_rank, uint32_t owner, const Operand& o, uint32_t n) {
    State& s = states_[owner];
    if (o.buffer == buffers::kScratch) return &s.scratch[o.place + n];
    if (owner != lane_rank && (!s.inside || s.call != states_[lane_rank].call)) {
      fault_ = "a user buffer is touched outside of its owner's call";
      return nullptr;
    }
    if (o.buffer == buffers::kOut) return &s.out[o.place + n];
    Cells* over = alias(owner, o.place + n);
    return over ? over : &s.in[o.place + n];
  }

  bool ready(uint32_t lane, const Instruction& i) const {
    uint32_t rank = plan_.lanes[lane].rank;
    for (const After& a : plan_.afters(i))
      if (steps_[plan_.rank_lanes[rank] + a.lane] <= a.step) return false;
    if (i.op == Opcode::kWait && counters_[i.counter] < signals_[i.counter] * states_[rank].call + i.value)
      return false;
    for (const Operand& o : plan_.sources(i))
      if (o.space == Space::kConnection && fifos_[o.rank].empty()) return false;
    for (const Operand& o : plan_.destinations(i))
      if (o.space == Space::kConnection && fifos_[o.rank].size() >= slots_) return false;
    return true;
  }

  // A lane at random; a slow one is passed over most of the time.
  size_t pick() {
    while (true) {
      uint64_t draw = random_();
      size_t lane = draw % plan_.lanes.size();
      if (!slow_[lane] || draw >> 60 == 0) return lane;
    }
  }

  bool step(size_t lane) {
    uint32_t rank = plan_.lanes[lane].rank;
    if (!states_[rank].inside || steps_[lane] == plan_.lanes[lane].count) return false;
    const Instruction& i = plan_.instructions[plan_.lanes[lane].first + steps_[lane]];
    if (!ready(static_cast<uint32_t>(lane), i)) return false;
    act(rank, i);
    if (!fault_.empty()) return true;
    ++steps_[lane];
    leave_if_done(rank);
    return true;
  }

  void act(uint32_t rank, const Instruction& i) {
    if (i.op == Opcode::kSignal) ++counters_[i.counter];
    if (i.source_count == 0) return;
    std::vector<Cells> message, sent;
    for (const Operand& o : plan_.sources(i))
      if (o.space == Space::kConnection) {
        message = std::move(fifos_[o.rank].front());
        fifos_[o.rank].erase(fifos_[o.rank].begin());
        if (message.size() != i.length) fault_ = "a message of another length";
      }
    if (!fault_.empty()) return;
    bool gives = false;
    for (uint32_t n = 0; n < i.length; ++n) {
      uint32_t count = moved(i, n);
      Cells sum(count, 0);
      auto add = [&](const Cells* from) {
        if (!fault_.empty()) return;
        if (from->size() < count) fault_ = "reads past the end of a place";
        for (uint32_t e = 0; e < count && fault_.empty(); ++e) sum[e] += (*from)[e];
      };
      for (const Operand& o : plan_.sources(i)) {
        if (o.space == Space::kConnection) {
          if (message[n].size() != count) fault_ = "a message of another length";
          if (fault_.empty()) add(&message[n]);
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan_.groups[o.rank].ranks)
            if (const Cells* from = cells(rank, member, o, n)) add(from);
        } else if (const Cells* from = cells(rank, o.space == Space::kPeer ? o.rank : rank, o, n)) {
          add(from);
        }
      }
      if (!fault_.empty()) return;
      auto store = [&](Cells* to) {
        if (to == nullptr) return;
        if (to->size() < count) fault_ = "writes past the end of a place";
        if (fault_.empty()) std::copy(sum.begin(), sum.end(), to->begin());
      };
      for (const Operand& o : plan_.destinations(i)) {
        if (o.space == Space::kConnection) {
          gives = true;
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan_.groups[o.rank].ranks) store(cells(rank, member, o, n));
        } else {
          store(cells(rank, o.space == Space::kPeer ? o.rank : rank, o, n));
        }
      }
      sent.push_back(std::move(sum));
    }
    if (!gives) return;
    for (const Operand& o : plan_.destinations(i))
      if (o.space == Space::kConnection) fifos_[o.rank].push_back(sent);
  }

  void leave_if_done(uint32_t rank) {
    for (uint32_t l = plan_.rank_lanes[rank]; l < plan_.rank_lanes[rank + 1]; ++l)
      if (steps_[l] < plan_.lanes[l].count) return;
    State& s = states_[rank];
    for (uint32_t p = 0; p < s.out.size(); ++p) {
      Expectation e = plan_.contract.expect(rank, p / parts());
      if (e.kind == Expectation::Kind::kAny) continue;
      std::vector<InBlock> from = e.list;
      if (e.all_ranks)
        for (uint32_t r = 0; r < plan_.ranks(); ++r) from.push_back({r, e.block});
      for (uint32_t x = 0; x < s.out[p].size(); ++x) {
        uint64_t sum = 0;
        for (const InBlock& b : from) sum += input(s.call, b.rank, b.block * parts() + p % parts(), x);
        if (sum != s.out[p][x])
          fault_ = "rank " + std::to_string(rank) + " out " + std::to_string(p) + " is wrong in call " +
                   std::to_string(s.call);
      }
    }
    if (s.call + 1 == calls_) {
      s.inside = false;
      ++finished_;
      return;
    }
    for (uint32_t l = plan_.rank_lanes[rank]; l < plan_.rank_lanes[rank + 1]; ++l) steps_[l] = 0;
    enter(rank, s.call + 1);
  }

  const Plan& plan_;
  uint32_t slots_, calls_;
  bool inplace_;
  std::mt19937_64 random_;
  std::vector<State> states_;
  std::vector<uint32_t> steps_;
  std::vector<std::vector<std::vector<Cells>>> fifos_;
  std::vector<uint64_t> counters_, signals_;
  std::vector<bool> slow_;
  uint32_t finished_ = 0;
  std::string fault_;
};

}  // namespace coll::testing
