#pragma once
// Plans written by hand, for tests: instructions are appended lane by lane, in the order of the witness.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/plan.h"

namespace coll::testing {

inline Operand local(uint16_t buffer, uint32_t place) { return {Space::kLocal, buffer, 0, place}; }
inline Operand in(uint32_t place) { return local(buffers::kIn, place); }
inline Operand out(uint32_t place) { return local(buffers::kOut, place); }
inline Operand scratch(uint32_t place) { return local(buffers::kScratch, place); }
inline Operand message(uint32_t connection) { return {Space::kConnection, 0, connection, 0}; }
inline Operand peer(uint32_t rank, uint16_t buffer, uint32_t place) { return {Space::kPeer, buffer, rank, place}; }
inline Operand group(uint32_t id, uint16_t buffer, uint32_t place) { return {Space::kGroup, buffer, id, place}; }

inline Contract make_contract(ContractKind kind, uint32_t ranks, uint32_t root = 0, uint32_t dst = 0) {
  Contract c;
  c.kind = kind;
  c.name = name(kind);
  c.ranks = ranks;
  c.root = root;
  c.dst = dst;
  return c;
}

class PlanBuilder {
  struct Item {
    Instruction instruction;
    std::vector<Operand> operands;
    std::vector<After> after;
  };

 public:
  explicit PlanBuilder(Contract contract, uint32_t parts = 1) {
    plan_.name = "by_hand";
    plan_.contract = std::move(contract);
    plan_.grids[0].parts = parts;
    plan_.scratch_places.assign(plan_.contract.ranks, 0);
    plan_.lines.files = {"hand.coll"};
    ranks_.resize(plan_.contract.ranks);
  }
  PlanBuilder(ContractKind kind, uint32_t ranks, uint32_t parts = 1) : PlanBuilder(make_contract(kind, ranks), parts) {}

  Plan& header() { return plan_; }
  void scratch_places(uint32_t places) { plan_.scratch_places.assign(plan_.contract.ranks, places); }

  uint32_t connection(uint32_t source, uint32_t destination, uint32_t channel = 0) {
    plan_.connections.push_back({source, destination, channel, "simple"});
    return static_cast<uint32_t>(plan_.connections.size() - 1);
  }
  uint32_t counter(uint32_t owner, uint32_t signaller) {
    plan_.counters.push_back({owner, signaller, "c" + std::to_string(plan_.counters.size())});
    return static_cast<uint32_t>(plan_.counters.size() - 1);
  }
  uint32_t group_of(std::vector<uint32_t> ranks) {
    plan_.groups.push_back({std::move(ranks)});
    return static_cast<uint32_t>(plan_.groups.size() - 1);
  }

  // What is said of an instruction beyond its operands.
  class Added {
   public:
    Added(PlanBuilder& builder, uint32_t rank, uint32_t lane, uint32_t step)
        : builder_(builder), rank_(rank), lane_(lane), step_(step) {}
    Added& part(uint32_t p) { return get().instruction.first_part = p, *this; }
    Added& length(uint32_t l) { return get().instruction.length = l, *this; }
    Added& grid(uint16_t g) { return get().instruction.grid = g, *this; }
    Added& after(uint32_t lane, uint32_t step) { return get().after.push_back({lane, step}), *this; }
    Added& after(const Added& other) { return after(other.lane_, other.step_); }
    uint32_t step() const { return step_; }

   private:
    friend class PlanBuilder;
    Item& get() { return builder_.ranks_[rank_][lane_][step_]; }
    PlanBuilder& builder_;
    uint32_t rank_, lane_, step_;
  };

  // The part moved is, if not said, that of the first user buffer's place, or else of the longest extent.
  Added add(uint32_t rank, uint32_t lane, Opcode op, std::vector<Operand> sources, std::vector<Operand> destinations) {
    Item item;
    item.instruction.op = op;
    item.instruction.source_count = static_cast<uint8_t>(sources.size());
    item.instruction.destination_count = static_cast<uint8_t>(destinations.size());
    item.operands = std::move(sources);
    item.operands.insert(item.operands.end(), destinations.begin(), destinations.end());
    uint32_t parts = plan_.grids[0].parts;
    item.instruction.first_part = parts == 1 ? 0 : kLongestPart;
    for (const Operand& o : item.operands) {
      if (o.space == Space::kConnection || o.buffer == buffers::kScratch) continue;
      item.instruction.first_part = o.place % parts;
      break;
    }
    return append(rank, lane, std::move(item));
  }
  Added signal(uint32_t rank, uint32_t lane, uint32_t counter) {
    Item item;
    item.instruction.op = Opcode::kSignal;
    item.instruction.counter = counter;
    return append(rank, lane, std::move(item));
  }
  Added wait(uint32_t rank, uint32_t lane, uint32_t counter, uint32_t value = 1) {
    Item item;
    item.instruction.op = Opcode::kWait;
    item.instruction.counter = counter;
    item.instruction.value = value;
    return append(rank, lane, std::move(item));
  }

  Plan build() const {
    Plan plan = plan_;
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const std::vector<Item>& lane : ranks_[rank]) {
        plan.lanes.push_back(
            {rank, static_cast<uint32_t>(plan.instructions.size()), static_cast<uint32_t>(lane.size())});
        for (const Item& item : lane) {
          Instruction i = item.instruction;
          i.first_operand = static_cast<uint32_t>(plan.operands.size());
          i.first_after = static_cast<uint32_t>(plan.after.size());
          i.after_count = static_cast<uint16_t>(item.after.size());
          plan.operands.insert(plan.operands.end(), item.operands.begin(), item.operands.end());
          plan.after.insert(plan.after.end(), item.after.begin(), item.after.end());
          plan.instructions.push_back(i);
        }
      }
    }
    plan.finish();
    return plan;
  }

 private:
  Added append(uint32_t rank, uint32_t lane, Item item) {
    if (ranks_[rank].size() <= lane) ranks_[rank].resize(lane + 1);
    item.instruction.order = added_;
    item.instruction.line = added_++;
    plan_.lines.lines.push_back({0, added_});  // each instruction has a source line of its own, from 1
    ranks_[rank][lane].push_back(std::move(item));
    return {*this, rank, lane, static_cast<uint32_t>(ranks_[rank][lane].size() - 1)};
  }

  Plan plan_;
  std::vector<std::vector<std::vector<Item>>> ranks_;
  uint32_t added_ = 0;
};

// Fused ring all-reduce of n > 1 ranks, one lane a rank, 2n - 1 instructions each: reduce-scatter round the ring, then
// all-gather. Needs two slots: all lanes send first, and a fused receive-send acquires both ends.
inline Plan fused_ring(uint32_t n) {
  Plan plan;
  plan.name = "fused_ring";
  plan.contract = make_contract(ContractKind::kAllReduce, n);
  plan.grids[0].parts = n;
  plan.inplace = true;
  plan.slots_needed = 2;
  plan.scratch_places.assign(n, 0);
  plan.lines.files = {"ring.coll"};
  plan.lines.lines = {{0, 6}, {0, 10}};
  for (uint32_t r = 0; r < n; ++r) plan.connections.push_back({r, (r + 1) % n, 0, "simple"});
  plan.instructions.reserve(static_cast<size_t>(n) * (2 * n - 1));
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t previous = (r + n - 1) % n;
    plan.lanes.push_back({r, static_cast<uint32_t>(plan.instructions.size()), 2 * n - 1});
    for (uint32_t s = 0; s < 2 * n - 1; ++s) {
      uint32_t part = (r + 2 * n - s) % n;
      Instruction i;
      i.first_part = part;
      i.first_operand = static_cast<uint32_t>(plan.operands.size());
      i.order = s * n + r;
      i.line = s < n ? 0 : 1;
      auto operand = [&](Operand o, bool source) {
        plan.operands.push_back(o);
        ++(source ? i.source_count : i.destination_count);
      };
      if (s == 0) {
        i.op = Opcode::kSend;
        operand(in(part), true);
        operand(message(r), false);
      } else {
        bool reduces = s < n;
        if (reduces) operand(in(part), true);
        operand(message(previous), true);
        if (s >= n - 1) operand(out(part), false);
        if (s < 2 * n - 2) operand(message(r), false);
        i.op = s < n - 1       ? Opcode::kRecvReduceSend
               : s == n - 1    ? Opcode::kRecvReduceCopySend
               : s < 2 * n - 2 ? Opcode::kRecvCopySend
                               : Opcode::kRecv;
      }
      plan.instructions.push_back(i);
    }
  }
  plan.finish();
  return plan;
}

// Direct scatter-reduce and all-gather between all pairs, staged: lane k of a rank talks to the k-th other rank, and
// lane 0 reduces what has come in.
inline Plan all_pairs(uint32_t n) {
  PlanBuilder b(ContractKind::kAllReduce, n, n);
  b.header().name = "all_pairs";
  b.scratch_places(n);
  std::vector<std::vector<uint32_t>> to(n, std::vector<uint32_t>(n));
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) to[r][q] = b.connection(r, q);
  auto lane_of = [](uint32_t r, uint32_t q) { return q < r ? q : q - 1; };
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) b.add(r, lane_of(r, q), Opcode::kSend, {in(q)}, {message(to[r][q])});
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) b.add(r, lane_of(r, q), Opcode::kRecv, {message(to[q][r])}, {scratch(q)}).part(r);
  for (uint32_t r = 0; r < n; ++r) {
    std::vector<Operand> all;
    for (uint32_t q = 0; q < n; ++q) all.push_back(q == r ? in(r) : scratch(q));
    auto sum = b.add(r, 0, Opcode::kReduce, all, {out(r)}).part(r);
    for (uint32_t lane = 1; lane + 1 < n; ++lane) sum.after(lane, 1);
  }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) {
        auto send = b.add(r, lane_of(r, q), Opcode::kSend, {out(r)}, {message(to[r][q])});
        if (lane_of(r, q) != 0) send.after(0, 2);
      }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) b.add(r, lane_of(r, q), Opcode::kRecv, {message(to[q][r])}, {out(q)});
  return b.build();
}

// One-shot all-reduce: every rank puts its input into the scratch of all others, signals, and sums what came in. With
// `ready`, a rank first says to each other rank that its scratch of the last call is free again.
inline Plan direct_one_shot(uint32_t n, bool ready) {
  PlanBuilder b(ContractKind::kAllReduce, n);
  b.header().name = "direct_one_shot";
  b.scratch_places(n);
  std::vector<std::vector<uint32_t>> arrived(n, std::vector<uint32_t>(n)), freed = arrived;
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q) {
      if (q == r) continue;
      arrived[r][q] = b.counter(r, q);
      if (ready) freed[r][q] = b.counter(r, q);  // r waits until q's scratch is free
    }
  if (ready)
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t q = 0; q < n; ++q)
        if (q != r) b.signal(r, 0, freed[q][r]);
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t q = 0; q < n; ++q) {
      if (q == r) continue;
      if (ready) b.wait(r, 0, freed[r][q]);
      b.add(r, 0, Opcode::kPut, {in(0)}, {peer(q, buffers::kScratch, r)});
      b.signal(r, 0, arrived[q][r]);
    }
  for (uint32_t r = 0; r < n; ++r) {
    for (uint32_t q = 0; q < n; ++q)
      if (q != r) b.wait(r, 0, arrived[r][q]);
    std::vector<Operand> all;
    for (uint32_t q = 0; q < n; ++q) all.push_back(q == r ? in(0) : scratch(q));
    b.add(r, 0, Opcode::kReduce, all, {out(0)});
  }
  return b.build();
}

// In-switch all-reduce: every rank reduces one part over the group and multicasts it. Barriers of counters around.
inline Plan switch_all_reduce(uint32_t n, bool begin_barrier, bool end_barrier, bool to_scratch = false) {
  PlanBuilder b(ContractKind::kAllReduce, n, n);
  b.scratch_places(n);
  std::vector<uint32_t> all;
  for (uint32_t r = 0; r < n; ++r) all.push_back(r);
  uint32_t everyone = b.group_of(all);
  auto barrier = [&] {
    std::vector<std::vector<uint32_t>> counters(n, std::vector<uint32_t>(n));
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t q = 0; q < n; ++q)
        if (q != r) b.signal(r, 0, counters[q][r] = b.counter(q, r));
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t q = 0; q < n; ++q)
        if (q != r) b.wait(r, 0, counters[r][q]);
  };
  uint16_t target = to_scratch ? buffers::kScratch : buffers::kOut;
  if (begin_barrier) barrier();
  for (uint32_t r = 0; r < n; ++r) {
    b.add(r, 0, Opcode::kSwitchReduce, {group(everyone, buffers::kIn, r)}, {out(r)});
    b.add(r, 0, Opcode::kMulticast, {out(r)}, {group(everyone, target, r)});
  }
  if (end_barrier) barrier();
  if (to_scratch)
    for (uint32_t r = 0; r < n; ++r)
      for (uint32_t q = 0; q < n; ++q)
        if (q != r) b.add(r, 0, Opcode::kCopy, {scratch(q)}, {out(q)});
  return b.build();
}

}  // namespace coll::testing
