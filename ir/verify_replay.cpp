// A lane is run until it must wait, then the next one of a queue; an event wakes the one lane that can wait for it.
// Running lanes as far as they go keeps their instructions and their rank's places in cache: a ring of 1,024 ranks is
// through after some three turns of each lane, where a step of each lane in turn would miss the cache at every one.
#include "ir/verify_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/check.h"
#include "ir/verify_story.h"

namespace coll::verifier {

Replay::Replay(const Tables& t) : t_(t) {}

bool Replay::run(uint32_t slots, std::vector<uint32_t>* order) {
  uint32_t lanes = static_cast<uint32_t>(t_.plan.lanes.size());
  connections_.assign(t_.connections.size(), {});
  for (size_t c = 0; c < connections_.size(); ++c) {
    connections_[c].send_lane = t_.connections[c].send_lane;
    connections_[c].receive_lane = t_.connections[c].receive_lane;
  }
  counters_.assign(t_.counters.size(), {});
  for (size_t c = 0; c < counters_.size(); ++c) counters_[c].wait_lane = t_.counters[c].wait_lane;
  done_.assign(lanes, 0);
  first_waiter_.assign(lanes, kNone);
  next_waiter_.assign(lanes, kNone);
  awaited_step_.assign(lanes, 0);
  wake_at_.assign(lanes, kNone);
  queue_.resize(lanes);
  queued_.assign(lanes, 1);
  for (uint32_t l = 0; l < lanes; ++l) queue_[l] = l;
  head_ = 0;
  waiting_ = lanes;
  finished_ = 0;
  if (order) {
    order->clear();
    order->reserve(t_.size());
  }
  while (waiting_ > 0) {
    uint32_t lane = queue_[head_];
    head_ = head_ + 1 == lanes ? 0 : head_ + 1;
    --waiting_;
    queued_[lane] = 0;
    advance(lane, slots == kUnlimited ? kNone : slots, order);
  }
  return finished_ == t_.size();
}

void Replay::wake(uint32_t lane) {
  if (queued_[lane]) return;
  queued_[lane] = 1;
  size_t tail = head_ + waiting_;
  queue_[tail < queue_.size() ? tail : tail - queue_.size()] = lane;
  ++waiting_;
}

void Replay::wake_afters(uint32_t lane) {
  uint32_t previous = kNone, waiter = first_waiter_[lane], least = kNone;
  while (waiter != kNone) {
    uint32_t next = next_waiter_[waiter];
    if (awaited_step_[waiter] <= done_[lane]) {
      (previous == kNone ? first_waiter_[lane] : next_waiter_[previous]) = next;
      wake(waiter);
    } else {
      least = std::min(least, awaited_step_[waiter]);
      previous = waiter;
    }
    waiter = next;
  }
  wake_at_[lane] = least;
}

// The conditions that few instructions have: `after` and counters. Notes for what the lane waits.
bool Replay::may_act(uint32_t lane, uint32_t instruction) {
  const Instruction& i = t_.plan.instructions[instruction];
  if (t_.flags[instruction] & Tables::kHasAfter) {
    uint32_t first = t_.rank_lanes[t_.plan.lanes[lane].rank];
    for (const After& a : t_.plan.afters(i)) {
      uint32_t target = first + a.lane;
      if (done_[target] > a.step) continue;
      if (target == lane) return false;  // waits for itself or its own future: nobody will wake it
      awaited_step_[lane] = a.step + 1;
      next_waiter_[lane] = first_waiter_[target];
      first_waiter_[target] = lane;
      wake_at_[target] = std::min(wake_at_[target], a.step + 1);
      return false;
    }
  }
  if (t_.flags[instruction] & Tables::kWaits) {
    Counter& c = counters_[i.counter];
    if (c.value < i.value) {
      c.awaited = i.value;
      return false;
    }
  }
  return true;
}

void Replay::advance(uint32_t lane, uint32_t slots, std::vector<uint32_t>* order) {
  uint32_t first = t_.plan.lanes[lane].first, end = first + t_.plan.lanes[lane].count;
  uint32_t begin = first + done_[lane], i = begin;
  for (; i < end; ++i) {
    Ends ends = t_.ends[i];
    uint8_t flags = t_.flags[i];
    if (flags != 0 && !may_act(lane, i)) break;
    if (ends.take != kNone && connections_[ends.take].sent == connections_[ends.take].received) {
      connections_[ends.take].receiver_waits = true;
      break;
    }
    if (ends.give != kNone && connections_[ends.give].sent - connections_[ends.give].received >= slots) {
      connections_[ends.give].sender_waits = true;
      break;
    }
    if (ends.take != kNone) {
      Connection& c = connections_[ends.take];
      ++c.received;
      if (c.sender_waits) {
        c.sender_waits = false;
        wake(c.send_lane);
      }
    }
    if (ends.give != kNone) {
      Connection& c = connections_[ends.give];
      ++c.sent;
      if (c.receiver_waits) {
        c.receiver_waits = false;
        wake(c.receive_lane);
      }
    }
    if (flags & Tables::kSignals) {
      Counter& c = counters_[t_.plan.instructions[i].counter];
      ++c.value;
      if (c.awaited != 0 && c.value >= c.awaited) {
        c.awaited = 0;
        wake(c.wait_lane);
      }
    }
    done_[lane] = i + 1 - first;
    if (wake_at_[lane] <= done_[lane]) wake_afters(lane);
    if (order) order->push_back(i);
  }
  finished_ += i - begin;
}

uint32_t Replay::least_slots() {
  if (run(1)) return 1;
  uint32_t most = 1;
  for (const ConnectionEnds& c : t_.connections) most = std::max(most, c.messages);
  uint32_t fails = 1, runs = 2;
  while (runs < most && !run(runs)) {
    fails = runs;
    runs *= 2;
  }
  runs = std::min(runs, most);
  while (runs - fails > 1) {
    uint32_t middle = fails + (runs - fails) / 2;
    (run(middle) ? runs : fails) = middle;
  }
  return runs;
}

std::vector<Replay::Wait> Replay::waits_of(uint32_t lane, uint32_t slots) const {
  std::vector<Wait> waits;
  uint32_t i = t_.plan.lanes[lane].first + done_[lane];
  const Instruction& in = t_.plan.instructions[i];
  Ends ends = t_.ends[i];
  if (ends.take != kNone && connections_[ends.take].sent == connections_[ends.take].received)
    waits.push_back({Wait::Kind::kMessage, connections_[ends.take].send_lane, ends.take});
  if (ends.give != kNone && slots != kUnlimited &&
      connections_[ends.give].sent - connections_[ends.give].received >= slots)
    waits.push_back({Wait::Kind::kSlot, connections_[ends.give].receive_lane, ends.give});
  uint32_t rank = t_.plan.lanes[lane].rank;
  for (const After& a : t_.plan.afters(in))
    if (done_[t_.rank_lanes[rank] + a.lane] <= a.step)
      waits.push_back({Wait::Kind::kAfter, t_.rank_lanes[rank] + a.lane, t_.target(rank, a)});
  if ((t_.flags[i] & Tables::kWaits) && counters_[in.counter].value < in.value)
    waits.push_back({Wait::Kind::kSignal, t_.counters[in.counter].signal_lane, t_.partner[i]});
  return waits;
}

std::string Replay::describe(uint32_t lane, const Wait& wait, uint32_t slots) const {
  uint32_t i = t_.plan.lanes[lane].first + done_[lane];
  auto lane_name = [&](uint32_t l) {
    uint32_t rank = t_.plan.lanes[l].rank;
    return fmt::format("rank {} lane {}", rank, l - t_.rank_lanes[rank]);
  };
  std::string begin = who(t_, i) + " waits for ";
  switch (wait.kind) {
    case Wait::Kind::kMessage: {
      const auto& c = t_.plan.connections[wait.id];
      return begin + fmt::format("message {} from {} on channel {}, not sent yet", connections_[wait.id].received + 1,
                                 lane_name(wait.lane), c.channel);
    }
    case Wait::Kind::kSlot: {
      const auto& c = t_.plan.connections[wait.id];
      return begin + fmt::format("a free slot to {} on channel {}: {} of {} hold{} messages that it has not received",
                                 lane_name(wait.lane), c.channel, slots, slots, slots == 1 ? "s" : "");
    }
    case Wait::Kind::kAfter:
      return begin + fmt::format("{}, not reached yet", who(t_, wait.id));
    case Wait::Kind::kSignal:
      return begin + fmt::format("signal {} of counter `{}` by {}, not reached yet", t_.plan.instructions[i].value,
                                 t_.plan.counters[t_.plan.instructions[i].counter].name, who(t_, wait.id));
  }
  return begin;
}

bool Replay::tell_deadlock(uint32_t slots, VerifyResult& result) const {
  uint32_t lanes = static_cast<uint32_t>(t_.plan.lanes.size());
  std::vector<uint32_t> blocked;
  for (uint32_t l = 0; l < lanes; ++l)
    if (done_[l] < t_.plan.lanes[l].count) blocked.push_back(l);
  COLL_CHECK(!blocked.empty(), "a deadlock without a waiting lane");

  // Messages and signals balance, so a blocked lane always waits for a blocked one, and there is a cycle. The shortest
  // is looked for from each lane in turn, breadth first, never deeper than the best so far; at most kWork lanes are
  // visited in all after the first cycle was found, so that a deadlock of a huge plan is told without delay.
  constexpr uint64_t kWork = 2'000'000;
  uint64_t work = 0;
  std::vector<uint32_t> best, from(lanes, kNone), stamp(lanes, kNone), depth(lanes, 0), list;
  for (uint32_t start : blocked) {
    if (!best.empty() && (work > kWork || best.size() == 1)) break;
    list.assign(1, start);
    depth[start] = 1;
    bool found = false;
    for (size_t n = 0; n < list.size() && !found; ++n) {
      uint32_t lane = list[n];
      if (!best.empty() && depth[lane] >= best.size()) break;
      for (const Wait& wait : waits_of(lane, slots)) {
        ++work;
        if (wait.lane == start) {
          best.clear();
          for (uint32_t l = lane; l != start; l = from[l]) best.push_back(l);
          best.push_back(start);
          std::reverse(best.begin(), best.end());
          found = true;
          break;
        }
        if (stamp[wait.lane] == start) continue;
        stamp[wait.lane] = start;
        from[wait.lane] = lane;
        depth[wait.lane] = depth[lane] + 1;
        list.push_back(wait.lane);
      }
    }
  }
  COLL_CHECK(!best.empty(), "a deadlock without a cycle");

  std::vector<std::string> lines;
  constexpr size_t kShown = 12;
  for (size_t n = 0; n < best.size(); ++n) {
    if (n == kShown - 1 && best.size() > kShown) {
      lines.push_back(fmt::format("and so on through {} more lanes back to the first", best.size() - n));
      break;
    }
    uint32_t next = best[(n + 1) % best.size()];
    for (const Wait& wait : waits_of(best[n], slots)) {
      if (wait.lane != next) continue;
      lines.push_back(describe(best[n], wait, slots));
      break;
    }
  }
  uint32_t first = t_.plan.lanes[best[0]].first + done_[best[0]];
  return refuse_at(t_, result, Fault::kDeadlock, first, std::move(lines));
}

}  // namespace coll::verifier
