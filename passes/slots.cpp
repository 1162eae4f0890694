// Replays a plan with k message slots a connection, to find an order in which it runs.
//
// Lanes run as far as they can, in the order of a work list; an instruction acquires both of its connection ends before
// it acts. Connections have one sender and one receiver and counters only grow, so whether the plan ends does not
// depend on the order in which lanes are tried: one replay decides. O(instructions + waits).
#include <algorithm>

#include "passes/steps.h"

namespace coll {

namespace {

class Replay {
 public:
  Replay(const Plan& plan, uint32_t slots) : plan_(plan), slots_(slots) {
    at_.resize(plan.lanes.size());
    queued_.assign(plan.lanes.size(), 0);
    in_flight_.assign(plan.connections.size(), 0);
    sender_waits_.assign(plan.connections.size(), kNoIndex);
    receiver_waits_.assign(plan.connections.size(), kNoIndex);
    signals_.assign(plan.counters.size(), 0);
    counter_waits_.assign(plan.counters.size(), kNoIndex);
    lane_waits_.resize(plan.lanes.size());
    for (uint32_t l = 0; l < plan.lanes.size(); ++l) at_[l] = plan.lanes[l].first;
  }

  bool run(std::vector<uint32_t>& order, std::vector<uint32_t>& stuck) {
    order.clear();
    order.reserve(plan_.instructions.size());
    queue_.reserve(plan_.lanes.size() * 2);
    for (uint32_t l = 0; l < plan_.lanes.size(); ++l) push(l);
    for (size_t head = 0; head < queue_.size(); ++head) {
      uint32_t lane = queue_[head];
      queued_[lane] = 0;
      advance(lane, order);
      if (head > (1u << 16) && head * 2 > queue_.size()) {  // keep the queue short
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head) + 1);
        head = static_cast<size_t>(-1);
      }
    }
    stuck.clear();
    for (uint32_t l = 0; l < plan_.lanes.size(); ++l)
      if (at_[l] < plan_.lanes[l].first + plan_.lanes[l].count) stuck.push_back(at_[l]);
    return stuck.empty();
  }

 private:
  void push(uint32_t lane) {
    if (queued_[lane]) return;
    queued_[lane] = 1;
    queue_.push_back(lane);
  }
  void wake(uint32_t& waiter) {
    if (waiter != kNoIndex) push(waiter);
    waiter = kNoIndex;
  }

  // True if the instruction can act now; else the lane is noted where it waits.
  bool ready(uint32_t lane, const Instruction& i) {
    uint32_t base = plan_.rank_lanes[plan_.lanes[lane].rank];
    for (const After& dependence : plan_.afters(i)) {
      uint32_t other = base + dependence.lane;
      if (at_[other] > plan_.lanes[other].first + dependence.step) continue;
      lane_waits_[other].push_back({dependence.step, lane});
      return false;
    }
    if (i.op == Opcode::kWait && signals_[i.counter] < i.value) {
      counter_waits_[i.counter] = lane;
      return false;
    }
    if (info(i.op).takes) {
      for (const Operand& o : plan_.sources(i)) {
        if (o.space != Space::kConnection || in_flight_[o.rank] > 0) continue;
        receiver_waits_[o.rank] = lane;
        return false;
      }
    }
    if (info(i.op).gives) {
      for (const Operand& o : plan_.destinations(i)) {
        if (o.space != Space::kConnection || in_flight_[o.rank] < slots_) continue;
        sender_waits_[o.rank] = lane;
        return false;
      }
    }
    return true;
  }

  void advance(uint32_t lane, std::vector<uint32_t>& order) {
    const Lane& l = plan_.lanes[lane];
    while (at_[lane] < l.first + l.count) {
      const Instruction& i = plan_.instructions[at_[lane]];
      if (!ready(lane, i)) return;
      if (info(i.op).takes) {
        for (const Operand& o : plan_.sources(i)) {
          if (o.space != Space::kConnection) continue;
          --in_flight_[o.rank];
          wake(sender_waits_[o.rank]);
        }
      }
      if (info(i.op).gives) {
        for (const Operand& o : plan_.destinations(i)) {
          if (o.space != Space::kConnection) continue;
          ++in_flight_[o.rank];
          wake(receiver_waits_[o.rank]);
        }
      }
      if (i.op == Opcode::kSignal) {
        ++signals_[i.counter];
        wake(counter_waits_[i.counter]);
      }
      order.push_back(at_[lane]);
      ++at_[lane];
      std::vector<Waiting>& waiting = lane_waits_[lane];
      if (waiting.empty()) continue;
      size_t kept = 0;
      for (const Waiting& w : waiting) {
        if (at_[lane] > l.first + w.step) {
          push(w.lane);
        } else {
          waiting[kept++] = w;
        }
      }
      waiting.resize(kept);
    }
  }

  struct Waiting {
    uint32_t step, lane;
  };

  const Plan& plan_;
  uint32_t slots_;
  std::vector<uint32_t> at_;  // next instruction of each lane
  std::vector<uint8_t> queued_;
  std::vector<uint32_t> queue_, in_flight_, sender_waits_, receiver_waits_, signals_, counter_waits_;
  std::vector<std::vector<Waiting>> lane_waits_;
};

}  // namespace

bool replay(const Plan& plan, uint32_t slots, std::vector<uint32_t>& order, std::vector<uint32_t>& stuck) {
  return Replay(plan, slots).run(order, stuck);
}

uint32_t least_slots(const Plan& plan, uint32_t most, std::vector<uint32_t>& order, std::vector<uint32_t>& stuck) {
  // Doubling, then bisection: a plan that runs with k slots runs with more.
  uint32_t fails = 0, runs = 1;
  most = std::max(1u, most);
  while (!replay(plan, runs, order, stuck)) {
    if (runs == most) return 0;
    fails = runs;
    runs = std::min(runs * 2, most);
  }
  std::vector<uint32_t> other;
  while (runs - fails > 1) {
    uint32_t middle = fails + (runs - fails) / 2;
    if (replay(plan, middle, other, stuck)) {
      runs = middle;
      order.swap(other);
    } else {
      fails = middle;
    }
  }
  return runs;
}

}  // namespace coll
