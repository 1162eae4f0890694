#pragma once
// Random damage to a verified plan, small enough that the result is often still right.
//
// Two sorts of it. Local damage touches one instruction: dropped, doubled, moved, another operand, dependence, counter
// or extent. Most of that is refused for a plain reason (a message left over, a mismatch), so it seldom tests the hard
// parts of the verifier. Consistent damage changes all ends of a message, a chain or a counter together: such a mutant
// is well formed, runs to its end, and is wrong or right only by what it computes or by the order it has lost.
#include <algorithm>
#include <random>
#include <vector>

#include "ir/plan.h"

namespace coll::testing {

// A plan as lists, so that instructions can come and go.
struct LoosePlan {
  struct Item {
    Instruction instruction;
    std::vector<Operand> operands;
    std::vector<After> after;
  };
  struct Spot {
    size_t lane = 0, step = 0;
    auto operator<=>(const Spot&) const = default;
  };
  struct Message {
    uint32_t connection = 0;
    Spot send, receive;
  };

  Plan frame;
  std::vector<std::vector<Item>> lanes;

  explicit LoosePlan(const Plan& plan) : frame(plan) {
    for (const Lane& lane : plan.lanes) {
      lanes.emplace_back();
      for (uint32_t i = 0; i < lane.count; ++i) {
        const Instruction& in = plan.instructions[lane.first + i];
        Item item;
        item.instruction = in;
        item.operands.assign(plan.operands.begin() + in.first_operand,
                             plan.operands.begin() + in.first_operand + in.source_count + in.destination_count);
        auto afters = plan.afters(in);
        item.after.assign(afters.begin(), afters.end());
        lanes.back().push_back(item);
      }
    }
  }

  Item& at(Spot s) { return lanes[s.lane][s.step]; }

  Plan build() const {
    Plan plan = frame;
    plan.instructions.clear();
    plan.operands.clear();
    plan.after.clear();
    for (size_t l = 0; l < lanes.size(); ++l) {
      plan.lanes[l].first = static_cast<uint32_t>(plan.instructions.size());
      plan.lanes[l].count = static_cast<uint32_t>(lanes[l].size());
      for (const Item& item : lanes[l]) {
        Instruction i = item.instruction;
        i.first_operand = static_cast<uint32_t>(plan.operands.size());
        i.first_after = static_cast<uint32_t>(plan.after.size());
        i.after_count = static_cast<uint16_t>(item.after.size());
        // The order is a permutation as long as nobody comes or goes; assign_witness makes a real one.
        i.order = static_cast<uint32_t>(plan.instructions.size());
        plan.operands.insert(plan.operands.end(), item.operands.begin(), item.operands.end());
        plan.after.insert(plan.after.end(), item.after.begin(), item.after.end());
        plan.instructions.push_back(i);
      }
    }
    plan.finish();
    return plan;
  }

  // Dependences on later steps of the lane move along; those on the step itself are lost.
  void drop(Spot s) {
    lanes[s.lane].erase(lanes[s.lane].begin() + static_cast<std::ptrdiff_t>(s.step));
    for_dependences(s.lane, [&](Item& item, uint32_t in_rank) {
      std::erase_if(item.after, [&](const After& a) { return a.lane == in_rank && a.step == s.step; });
      for (After& a : item.after)
        if (a.lane == in_rank && a.step > s.step) --a.step;
    });
  }

  void drop_all(std::vector<Spot> spots) {
    std::sort(spots.rbegin(), spots.rend());  // later steps first, so that the earlier ones stay where they are
    spots.erase(std::unique(spots.begin(), spots.end()), spots.end());
    for (Spot s : spots) drop(s);
  }

  // Dependences on the step and later ones move along.
  void insert(Spot s, Item item) {
    for_dependences(s.lane, [&](Item& other, uint32_t in_rank) {
      for (After& a : other.after)
        if (a.lane == in_rank && a.step >= s.step) ++a.step;
    });
    lanes[s.lane].insert(lanes[s.lane].begin() + static_cast<std::ptrdiff_t>(s.step), std::move(item));
  }

  // Dependences on either follow it when asked to; else they stay with the position.
  void swap(Spot a, Spot b, bool follow) {
    std::swap(at(a), at(b));
    if (!follow || a.lane != b.lane) return;
    for_dependences(a.lane, [&](Item& item, uint32_t in_rank) {
      for (After& after : item.after) {
        if (after.lane != in_rank) continue;
        if (after.step == a.step)
          after.step = static_cast<uint32_t>(b.step);
        else if (after.step == b.step)
          after.step = static_cast<uint32_t>(a.step);
      }
    });
  }

  // The connection that an instruction receives from, or sends to; null if none.
  static Operand* taken(Item& item) {
    for (uint32_t k = 0; k < item.instruction.source_count; ++k)
      if (item.operands[k].space == Space::kConnection) return &item.operands[k];
    return nullptr;
  }
  static Operand* given(Item& item) {
    for (size_t k = item.instruction.source_count; k < item.operands.size(); ++k)
      if (item.operands[k].space == Space::kConnection) return &item.operands[k];
    return nullptr;
  }

  // Messages of one tile, the n-th sent being the n-th received; those without one end are left out.
  std::vector<Message> messages() {
    std::vector<std::vector<Spot>> sends(frame.connections.size()), receives(frame.connections.size());
    for_spots([&](Spot s) {
      if (const Operand* o = given(at(s))) sends[o->rank].push_back(s);
      if (const Operand* o = taken(at(s))) receives[o->rank].push_back(s);
    });
    std::vector<Message> list;
    for (uint32_t c = 0; c < sends.size(); ++c)
      for (size_t n = 0; n < std::min(sends[c].size(), receives[c].size()); ++n)
        list.push_back({c, sends[c][n], receives[c][n]});
    return list;
  }

  std::vector<Spot> spots_of(Opcode op, uint32_t counter) {
    std::vector<Spot> list;
    for_spots([&](Spot s) {
      if (at(s).instruction.op == op && at(s).instruction.counter == counter) list.push_back(s);
    });
    return list;
  }

 private:
  template <class F>
  void for_spots(F f) {
    for (size_t l = 0; l < lanes.size(); ++l)
      for (size_t s = 0; s < lanes[l].size(); ++s) f(Spot{l, s});
  }

  // f(item, index of `lane` in its rank) for every instruction of the rank.
  template <class F>
  void for_dependences(size_t lane, F f) {
    uint32_t rank = frame.lanes[lane].rank, in_rank = frame.lane_in_rank(static_cast<uint32_t>(lane));
    for (size_t l = 0; l < lanes.size(); ++l)
      if (frame.lanes[l].rank == rank)
        for (Item& item : lanes[l]) f(item, in_rank);
  }
};

class Mutator {
 public:
  Mutator(const Plan& plan, uint32_t seed) : loose_(plan), random_(seed) {}

  // One or two changes; kinds() says which.
  Plan mutate() {
    for (uint32_t left = 1 + below(2); left > 0;) {
      size_t kind = below(kKinds.size());
      if (!(this->*kKinds[kind].change)()) continue;
      kinds_.push_back(kind);
      --left;
    }
    return loose_.build();
  }

  const std::vector<size_t>& kinds() const { return kinds_; }
  static size_t kind_count() { return kKinds.size(); }
  static const char* kind_name(size_t kind) { return kKinds[kind].name; }

 private:
  using Item = LoosePlan::Item;
  using Spot = LoosePlan::Spot;
  using Message = LoosePlan::Message;
  struct Kind {
    const char* name;
    bool (Mutator::*change)();
  };
  static const std::vector<Kind> kKinds;

  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }
  bool coin() { return below(2) == 0; }

  bool any_spot(Spot& s) {
    s.lane = below(loose_.lanes.size());
    if (loose_.lanes[s.lane].empty()) return false;
    s.step = below(loose_.lanes[s.lane].size());
    return true;
  }
  // A random operand of a random instruction, if it is of this space.
  Operand* any_operand(bool connection) {
    Spot s;
    if (!any_spot(s) || loose_.at(s).operands.empty()) return nullptr;
    std::vector<Operand>& operands = loose_.at(s).operands;
    Operand& o = operands[below(operands.size())];
    return (o.space == Space::kConnection) == connection ? &o : nullptr;
  }
  bool any_message(Message& m) {
    std::vector<Message> list = loose_.messages();
    if (list.empty()) return false;
    m = list[below(list.size())];
    return true;
  }
  bool any_counter(uint32_t& c) {
    if (loose_.frame.counters.empty()) return false;
    c = below(loose_.frame.counters.size());
    return true;
  }

  // Local damage.

  bool drop() {
    Spot s;
    if (!any_spot(s)) return false;
    loose_.drop(s);
    return true;
  }

  // Right behind itself, or later in its lane.
  bool duplicate() {
    Spot s;
    if (!any_spot(s)) return false;
    Item copy = loose_.at(s);
    size_t later = loose_.lanes[s.lane].size() - s.step;
    loose_.insert({s.lane, s.step + 1 + (coin() ? 0 : below(later))}, copy);
    return true;
  }

  bool swap_neighbours() {
    Spot s;
    if (!any_spot(s) || s.step + 1 == loose_.lanes[s.lane].size()) return false;
    loose_.swap(s, {s.lane, s.step + 1}, coin());
    return true;
  }

  bool swap_any() {
    Spot s;
    if (!any_spot(s)) return false;
    loose_.swap(s, {s.lane, below(loose_.lanes[s.lane].size())}, coin());
    return true;
  }

  bool other_place() {
    Operand* o = any_operand(false);
    if (o == nullptr) return false;
    o->place = coin() ? o->place + 1 : (o->place > 0 ? o->place - 1 : o->place + 2);
    return true;
  }

  bool other_buffer() {
    Operand* o = any_operand(false);
    if (o == nullptr) return false;
    o->buffer = static_cast<uint16_t>(below(3));
    return true;
  }

  bool other_connection() {
    Operand* o = any_operand(true);
    if (o == nullptr) return false;
    o->rank = below(loose_.frame.connections.size());
    return true;
  }

  bool other_peer() {
    Operand* o = any_operand(false);
    if (o == nullptr || o->space != Space::kPeer) return false;
    o->rank = below(loose_.frame.ranks());
    return true;
  }

  // The order of a reduction's operands: right, with other bits.
  bool swap_sources() {
    Spot s;
    if (!any_spot(s) || loose_.at(s).instruction.source_count < 2) return false;
    Item& item = loose_.at(s);
    uint32_t n = item.instruction.source_count, first = below(n), second = below(n);
    std::swap(item.operands[first], item.operands[second]);
    return true;
  }

  bool lose_dependence() {
    Spot s;
    if (!any_spot(s) || loose_.at(s).after.empty()) return false;
    std::vector<After>& after = loose_.at(s).after;
    after.erase(after.begin() + below(after.size()));
    return true;
  }

  bool weaken_dependence() {
    Spot s;
    if (!any_spot(s) || loose_.at(s).after.empty()) return false;
    After& a = loose_.at(s).after[below(loose_.at(s).after.size())];
    if (a.step == 0) return false;
    --a.step;
    return true;
  }

  bool other_counter() {
    Spot s;
    if (!any_spot(s)) return false;
    Instruction& i = loose_.at(s).instruction;
    if (i.op != Opcode::kWait && i.op != Opcode::kSignal) return false;
    if (coin() && i.op == Opcode::kWait)
      i.value += coin() ? 1u : ~0u;
    else
      i.counter = below(loose_.frame.counters.size());
    return true;
  }

  bool other_part() {
    Spot s;
    if (!any_spot(s) || loose_.at(s).operands.empty()) return false;
    loose_.at(s).instruction.first_part = below(loose_.frame.grids[0].parts);
    return true;
  }

  bool other_length() {
    Spot s;
    if (!any_spot(s) || loose_.at(s).operands.empty()) return false;
    loose_.at(s).instruction.length = 1 + below(3);
    return true;
  }

  // A reduction becomes a copy of one operand, or loses its copy.
  bool simplify() {
    Spot s;
    if (!any_spot(s)) return false;
    Item& item = loose_.at(s);
    Instruction& i = item.instruction;
    if ((i.op == Opcode::kReduce || i.op == Opcode::kRecvReduce) && i.source_count == 2) {
      item.operands.erase(item.operands.begin() + (i.op == Opcode::kReduce ? below(2) : 0));
      i.source_count = 1;
      i.op = i.op == Opcode::kReduce ? Opcode::kCopy : Opcode::kRecv;
      return true;
    }
    if (i.op != Opcode::kRecvReduceCopySend) return false;
    i.op = Opcode::kRecvReduceSend;
    item.operands.erase(item.operands.end() - 2);
    i.destination_count = 1;
    return true;
  }

  // Consistent damage.

  // One message less, at both ends.
  bool drop_message() {
    Message m;
    if (!any_message(m)) return false;
    loose_.drop_all({m.send, m.receive});
    return true;
  }

  // One message more, at both ends.
  bool duplicate_message() {
    Message m;
    if (!any_message(m)) return false;
    Item send = loose_.at(m.send), receive = loose_.at(m.receive);
    loose_.insert({m.send.lane, m.send.step + 1}, send);
    loose_.insert({m.receive.lane, m.receive.step + 1}, receive);
    return true;
  }

  // Both ends of a message, or all of the chain that forwards it, use the same other place: of another block, or of
  // another part with the extent that belongs to it.
  bool redirect_message() {
    Message m;
    if (!any_message(m)) return false;
    std::vector<Spot> spots = {m.send, m.receive};
    if (coin()) {
      std::vector<Message> all = loose_.messages();
      for (size_t done = 0; done < spots.size(); ++done)
        for (const Message& other : all)
          for (auto [here, there] : {std::pair{other.send, other.receive}, {other.receive, other.send}})
            if (here == spots[done] && std::find(spots.begin(), spots.end(), there) == spots.end())
              spots.push_back(there);
    }
    uint32_t parts = loose_.frame.grids[loose_.at(m.send).instruction.grid].parts;
    uint32_t shift = 1 + below(parts + 1);
    bool blocks = parts == 1 || below(3) == 0;
    for (Spot s : spots) {
      Item& item = loose_.at(s);
      if (!blocks && item.instruction.first_part != kLongestPart)
        item.instruction.first_part = (item.instruction.first_part + shift) % parts;
      for (Operand& o : item.operands) {
        if (o.space == Space::kConnection || o.buffer == buffers::kScratch) continue;
        if (!blocks) {
          o.place = o.place / parts * parts + (o.place + shift) % parts;
          continue;
        }
        uint32_t places = loose_.frame.places(loose_.frame.lanes[s.lane].rank, o.buffer, item.instruction.grid);
        if (places > 0) o.place = (o.place + shift * parts) % places;
      }
    }
    return true;
  }

  // Neighbouring messages of a connection change places at both ends.
  bool swap_messages() {
    Message a;
    if (!any_message(a)) return false;
    std::vector<Message> all = loose_.messages();
    for (size_t n = 0; n + 1 < all.size(); ++n) {
      if (all[n].connection != a.connection || all[n].send != a.send) continue;
      const Message& b = all[n + 1];
      if (b.connection != a.connection) return false;
      bool follow = coin();
      loose_.swap(a.send, b.send, follow);
      loose_.swap(a.receive, b.receive, follow);
      return true;
    }
    return false;
  }

  // Both ends agree on another extent.
  bool other_extent() {
    Message m;
    if (!any_message(m)) return false;
    Instruction &send = loose_.at(m.send).instruction, &receive = loose_.at(m.receive).instruction;
    if (coin()) {
      send.first_part = receive.first_part = below(loose_.frame.grids[send.grid].parts);
    } else {
      send.length = receive.length = 1 + below(3);
    }
    return true;
  }

  // A signal twice, and the waits behind it (or from it on) ask for one more: right, if no wait was missed.
  bool duplicate_signal() {
    uint32_t c;
    if (!any_counter(c)) return false;
    std::vector<Spot> signals = loose_.spots_of(Opcode::kSignal, c);
    if (signals.empty()) return false;
    size_t n = below(signals.size());
    raise_waits(c, static_cast<uint32_t>(n) + 1 + below(2), 1);
    loose_.insert({signals[n].lane, signals[n].step + 1}, loose_.at(signals[n]));
    return true;
  }

  // A signal less, and the waits that counted it ask for one less (the first may lose its wait).
  bool drop_signal() {
    uint32_t c;
    if (!any_counter(c)) return false;
    std::vector<Spot> signals = loose_.spots_of(Opcode::kSignal, c);
    if (signals.size() < 2) return false;
    size_t n = below(signals.size());
    raise_waits(c, static_cast<uint32_t>(n) + 1 + below(2), ~0u);
    loose_.drop(signals[n]);
    return true;
  }

  // The v-th signal and the wait for it.
  bool drop_pair() {
    uint32_t c;
    return any_counter(c) && drop_pair_of(c);
  }

  // The same of a counter by which an owner says that its memory may be written, or that a peer has done with it.
  bool drop_ready() {
    std::vector<uint32_t> list;
    for (uint32_t c = 0; c < loose_.frame.counters.size(); ++c)
      if (loose_.frame.counters[c].name.starts_with("ready") || loose_.frame.counters[c].name.starts_with("done"))
        list.push_back(c);
    return !list.empty() && drop_pair_of(list[below(list.size())]);
  }

  bool drop_pair_of(uint32_t c) {
    std::vector<Spot> signals = loose_.spots_of(Opcode::kSignal, c), waits = loose_.spots_of(Opcode::kWait, c);
    if (signals.empty() || waits.empty()) return false;
    Spot wait = waits[below(waits.size())];
    uint32_t value = loose_.at(wait).instruction.value;
    if (value == 0 || value > signals.size()) return false;
    raise_waits(c, value + 1, ~0u);
    loose_.drop_all({signals[value - 1], wait});
    return true;
  }

  // A signal comes earlier, or a wait later, by one instruction.
  bool slacken_counter() {
    Spot s;
    if (!any_spot(s)) return false;
    Opcode op = loose_.at(s).instruction.op;
    if (op == Opcode::kSignal && s.step > 0) {
      loose_.swap(s, {s.lane, s.step - 1}, coin());
      return true;
    }
    if (op != Opcode::kWait || s.step + 1 == loose_.lanes[s.lane].size()) return false;
    loose_.swap(s, {s.lane, s.step + 1}, coin());
    return true;
  }

  // A put, get or message goes with the source and the destination of another instruction of its lane.
  bool exchange_operands() {
    Spot s;
    if (!any_spot(s)) return false;
    Item &a = loose_.at(s), &b = loose_.at({s.lane, below(loose_.lanes[s.lane].size())});
    if (&a == &b || a.instruction.op != b.instruction.op || a.operands.size() != b.operands.size()) return false;
    std::swap(a.operands, b.operands);
    if (coin()) {
      std::swap(a.instruction.first_part, b.instruction.first_part);
      std::swap(a.instruction.length, b.instruction.length);
    }
    return true;
  }

  void raise_waits(uint32_t counter, uint32_t from, uint32_t by) {
    for (Spot s : loose_.spots_of(Opcode::kWait, counter)) {
      Instruction& wait = loose_.at(s).instruction;
      if (wait.value >= from && (by == 1 || wait.value > 1)) wait.value += by;
    }
  }

  LoosePlan loose_;
  std::mt19937 random_;
  std::vector<size_t> kinds_;
};

inline const std::vector<Mutator::Kind> Mutator::kKinds = {
    {"drop", &Mutator::drop},
    {"duplicate", &Mutator::duplicate},
    {"swap neighbours", &Mutator::swap_neighbours},
    {"swap any", &Mutator::swap_any},
    {"other place", &Mutator::other_place},
    {"other buffer", &Mutator::other_buffer},
    {"other connection", &Mutator::other_connection},
    {"other peer", &Mutator::other_peer},
    {"swap sources", &Mutator::swap_sources},
    {"lose dependence", &Mutator::lose_dependence},
    {"weaken dependence", &Mutator::weaken_dependence},
    {"other counter", &Mutator::other_counter},
    {"other part", &Mutator::other_part},
    {"other length", &Mutator::other_length},
    {"simplify", &Mutator::simplify},
    {"drop message", &Mutator::drop_message},
    {"duplicate message", &Mutator::duplicate_message},
    {"redirect message", &Mutator::redirect_message},
    {"swap messages", &Mutator::swap_messages},
    {"other extent", &Mutator::other_extent},
    {"duplicate signal", &Mutator::duplicate_signal},
    {"drop signal", &Mutator::drop_signal},
    {"drop pair", &Mutator::drop_pair},
    {"drop ready", &Mutator::drop_ready},
    {"slacken counter", &Mutator::slacken_counter},
    {"exchange operands", &Mutator::exchange_operands},
};

}  // namespace coll::testing
