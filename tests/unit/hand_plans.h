#pragma once
// Small plans written by hand, for tests of what runs plans. Not made by the lowering, so that its faults and those of
// the interpreter cannot cancel out.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/arithmetic.h"
#include "ir/interpret.h"
#include "ir/layout.h"
#include "ir/plan.h"

namespace coll::hand {

inline Operand in(uint32_t place) { return {Space::kLocal, buffers::kIn, 0, place}; }
inline Operand out(uint32_t place) { return {Space::kLocal, buffers::kOut, 0, place}; }
inline Operand scratch(uint32_t place) { return {Space::kLocal, buffers::kScratch, 0, place}; }
inline Operand message(uint32_t connection) { return {Space::kConnection, 0, connection, 0}; }
inline Operand at(uint32_t rank, Operand o) {
  o.space = Space::kPeer;
  o.rank = rank;
  return o;
}
inline Operand on_group(uint32_t group, Operand o) {
  o.space = Space::kGroup;
  o.rank = group;
  return o;
}

// Collects instructions in program order, which becomes the witness order.
class Builder {
 public:
  Builder(std::string name, ContractKind kind, uint32_t ranks, uint32_t parts = 1) {
    plan_.name = std::move(name);
    plan_.contract.kind = kind;
    plan_.contract.name = coll::name(kind);
    plan_.contract.ranks = ranks;
    plan_.grids[0].parts = parts;
    plan_.scratch_places.assign(ranks, 0);
    plan_.inplace = plan_.contract.offers_inplace();
    plan_.lines.files.push_back("hand.coll");
  }
  Plan& plan() { return plan_; }

  uint32_t connect(uint32_t from, uint32_t to, uint32_t channel = 0) {
    auto [it, is_new] = connections_.try_emplace({from, to, channel}, static_cast<uint32_t>(plan_.connections.size()));
    if (is_new) plan_.connections.push_back({from, to, channel, "simple"});
    return it->second;
  }
  uint32_t counter(uint32_t owner, uint32_t signaller) {
    plan_.counters.push_back({owner, signaller, "c"});
    return static_cast<uint32_t>(plan_.counters.size() - 1);
  }

  struct Added {
    uint32_t rank, lane;
    Instruction instruction;
    std::vector<Operand> operands;
    std::vector<After> after;
  };

  // Returns (lane, step) of what was added, for dependences. `part` is the part that moves.
  After add(uint32_t rank, uint32_t lane, Opcode op, std::vector<Operand> sources, std::vector<Operand> destinations,
            uint32_t part = 0, std::vector<After> after = {}, uint32_t length = 1) {
    Added a{rank, lane, {}, std::move(sources), std::move(after)};
    a.instruction.op = op;
    a.instruction.source_count = static_cast<uint8_t>(a.operands.size());
    a.instruction.destination_count = static_cast<uint8_t>(destinations.size());
    a.operands.insert(a.operands.end(), destinations.begin(), destinations.end());
    a.instruction.first_part = part;
    a.instruction.length = length;
    a.instruction.order = static_cast<uint32_t>(added_.size());
    plan_.lines.lines.push_back({0, a.instruction.order + 1});
    a.instruction.line = static_cast<uint32_t>(plan_.lines.lines.size() - 1);
    added_.push_back(std::move(a));
    return {lane, steps_[{rank, lane}]++};
  }
  After signal(uint32_t rank, uint32_t lane, uint32_t counter, std::vector<After> after = {}) {
    After step = add(rank, lane, Opcode::kSignal, {}, {}, 0, std::move(after));
    added_.back().instruction.counter = counter;
    return step;
  }
  After wait(uint32_t rank, uint32_t lane, uint32_t counter, uint32_t value = 1, std::vector<After> after = {}) {
    After step = add(rank, lane, Opcode::kWait, {}, {}, 0, std::move(after));
    added_.back().instruction.counter = counter;
    added_.back().instruction.value = value;
    return step;
  }

  Plan finish() {
    std::stable_sort(added_.begin(), added_.end(), [](const Added& a, const Added& b) {
      return std::tie(a.rank, a.lane) < std::tie(b.rank, b.lane);
    });
    for (const Added& a : added_) {
      bool starts = plan_.lanes.empty() || plan_.lanes.back().rank != a.rank || last_lane_ != a.lane;
      if (starts) plan_.lanes.push_back({a.rank, static_cast<uint32_t>(plan_.instructions.size()), 0});
      last_lane_ = a.lane;
      ++plan_.lanes.back().count;
      Instruction i = a.instruction;
      i.first_operand = static_cast<uint32_t>(plan_.operands.size());
      plan_.operands.insert(plan_.operands.end(), a.operands.begin(), a.operands.end());
      i.first_after = static_cast<uint32_t>(plan_.after.size());
      i.after_count = static_cast<uint16_t>(a.after.size());
      plan_.after.insert(plan_.after.end(), a.after.begin(), a.after.end());
      plan_.instructions.push_back(i);
    }
    plan_.finish();
    return plan_;
  }

 private:
  Plan plan_;
  std::vector<Added> added_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> steps_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> connections_;
  uint32_t last_lane_ = 0;
};

// Ring all-reduce, receives and sends fused; runs with 2 slots.
inline Plan fused_ring(uint32_t n, uint32_t instances = 1) {
  Builder b("fused_ring", ContractKind::kAllReduce, n, n);
  b.plan().instances = instances;
  b.plan().slots_needed = n == 1 ? 1 : 2;
  if (n == 1) {
    b.add(0, 0, Opcode::kReduce, {in(0)}, {out(0)});
    return b.finish();
  }
  auto to = [&](uint32_t r) { return message(b.connect(r, (r + 1) % n)); };
  auto from = [&](uint32_t r) { return message(b.connect((r + n - 1) % n, r)); };
  for (uint32_t r = 0; r < n; ++r) b.add(r, 0, Opcode::kSend, {in(r)}, {to(r)}, r);
  for (uint32_t s = 1; s < 2 * n - 1; ++s)
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t c = (r + 2 * n - s) % n;
      if (s < n - 1) b.add(r, 0, Opcode::kRecvReduceSend, {in(c), from(r)}, {to(r)}, c);
      if (s == n - 1) b.add(r, 0, Opcode::kRecvReduceCopySend, {in(c), from(r)}, {out(c), to(r)}, c);
      if (s >= n && s < 2 * n - 2) b.add(r, 0, Opcode::kRecvCopySend, {from(r)}, {out(c), to(r)}, c);
      if (s == 2 * n - 2) b.add(r, 0, Opcode::kRecv, {from(r)}, {out(c)}, c);
    }
  return b.finish();
}

// The same ring with nothing fused, partial sums in `out`; runs with one slot.
inline Plan plain_ring(uint32_t n) {
  Builder b("plain_ring", ContractKind::kAllReduce, n, n);
  auto to = [&](uint32_t r) { return message(b.connect(r, (r + 1) % n)); };
  auto from = [&](uint32_t r) { return message(b.connect((r + n - 1) % n, r)); };
  for (uint32_t s = 0; s < n - 1; ++s) {
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t c = (r + n - s) % n;
      b.add(r, 0, Opcode::kSend, {s == 0 ? in(c) : out(c)}, {to(r)}, c);
    }
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t c = (r + 2 * n - 1 - s) % n;
      b.add(r, 0, Opcode::kRecvReduce, {in(c), from(r)}, {out(c)}, c);
    }
  }
  for (uint32_t s = 0; s < n - 1; ++s) {
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t c = (r + 1 + n - s) % n;
      b.add(r, 0, Opcode::kSend, {out(c)}, {to(r)}, c);
    }
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t c = (r + n - s) % n;
      b.add(r, 0, Opcode::kRecv, {from(r)}, {out(c)}, c);
    }
  }
  return b.finish();
}

// All-pairs all-reduce: one lane for each peer and one that sums; n-ary reductions, dependences between lanes.
inline Plan all_pairs(uint32_t n) {
  Builder b("all_pairs", ContractKind::kAllReduce, n, n);
  b.plan().scratch_places.assign(n, n);
  auto lane_of = [](uint32_t r, uint32_t peer) { return peer < r ? peer : peer - 1; };
  std::vector<std::vector<After>> arrived(n);
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.add(r, lane_of(r, p), Opcode::kSend, {in(p)}, {message(b.connect(r, p))}, p);
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r)
        arrived[r].push_back(b.add(r, lane_of(r, p), Opcode::kRecv, {message(b.connect(p, r))}, {scratch(p)}, r));
  std::vector<After> summed;
  for (uint32_t r = 0; r < n; ++r) {
    std::vector<Operand> sources;
    for (uint32_t p = 0; p < n; ++p) sources.push_back(p == r ? in(r) : scratch(p));
    summed.push_back(b.add(r, n - 1, Opcode::kReduce, sources, {out(r)}, r, arrived[r]));
  }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.add(r, lane_of(r, p), Opcode::kSend, {out(r)}, {message(b.connect(r, p))}, r, {summed[r]});
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.add(r, lane_of(r, p), Opcode::kRecv, {message(b.connect(p, r))}, {out(p)}, p);
  return b.finish();
}

// Direct all-gather: ready, put into the peer's `out`, done. One lane for each peer.
inline Plan direct_all_gather(uint32_t n) {
  Builder b("direct_all_gather", ContractKind::kAllGather, n);
  std::vector<std::vector<uint32_t>> ready(n, std::vector<uint32_t>(n)), done = ready;
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) {
        ready[r][p] = b.counter(p, r);  // r tells p that r's `out` may be written
        done[r][p] = b.counter(p, r);   // r tells p that r has written p's `out`
      }
  auto lane_of = [](uint32_t r, uint32_t peer) { return peer < r ? peer : peer - 1; };
  for (uint32_t r = 0; r < n; ++r) {
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.signal(r, lane_of(r, p), ready[r][p]);
    b.add(r, n - 1, Opcode::kCopy, {in(0)}, {out(r)});
  }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) {
        b.wait(r, lane_of(r, p), ready[p][r]);
        b.add(r, lane_of(r, p), Opcode::kPut, {in(0)}, {at(p, out(r))});
        b.signal(r, lane_of(r, p), done[r][p]);
      }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.wait(r, lane_of(r, p), done[p][r]);
  return b.finish();
}

// Direct all-reduce: every rank folds all `in`s by getred, in rank order; ready and done both ways.
inline Plan direct_all_reduce(uint32_t n) {
  Builder b("direct_all_reduce", ContractKind::kAllReduce, n);
  b.plan().inplace = false;
  std::vector<std::vector<uint32_t>> ready(n, std::vector<uint32_t>(n)), done = ready;
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) {
        ready[r][p] = b.counter(p, r);
        done[r][p] = b.counter(p, r);
      }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.signal(r, 0, ready[r][p]);
  for (uint32_t r = 0; r < n; ++r) {
    std::vector<Operand> sources;
    for (uint32_t p = 0; p < n; ++p) {
      if (p != r) b.wait(r, 0, ready[p][r]);
      sources.push_back(p == r ? in(0) : at(p, in(0)));
    }
    b.add(r, 0, Opcode::kGetReduce, sources, {out(0)});
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.signal(r, 0, done[r][p]);
  }
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      if (p != r) b.wait(r, 0, done[p][r]);
  return b.finish();
}

// Memory of all ranks for one call, with inputs that depend on `seed`. Outputs are poisoned.
class World {
 public:
  World(const Plan& plan, const Sizes& sizes, bool in_place, uint64_t seed) : plan_(plan), sizes_(sizes) {
    uint32_t bytes = size_bytes(sizes.dtype);
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      const Contract& c = plan.contract;
      uint64_t ins = block_offset(c, sizes, false, r, c.in_blocks(r)) * bytes;
      uint64_t outs = block_offset(c, sizes, true, r, c.out_blocks(r)) * bytes;
      int64_t shift = in_place ? c.inplace_shift(r) * static_cast<int64_t>(sizes.count * bytes) : 0;
      // In place: `in` begins at out + shift, all in one allocation.
      uint64_t out_at = in_place && shift < 0 ? static_cast<uint64_t>(-shift) : 0;
      uint64_t in_at = in_place ? (shift > 0 ? static_cast<uint64_t>(shift) : 0) : 0;
      memory_.emplace_back(std::max(out_at + outs, in_place ? in_at + ins : 0) + 1, 0xff);
      apart_.emplace_back(in_place ? 0 : ins + 1);
      unsigned char* in_memory = in_place ? memory_.back().data() + in_at : apart_.back().data();
      fill(in_memory, ins / bytes, seed * 1000003 + r);
      buffers_.push_back({in_memory, memory_.back().data() + out_at});
      original_.emplace_back(in_memory, in_memory + ins);
    }
  }
  const std::vector<RankBuffers>& buffers() const { return buffers_; }
  std::vector<const void*> inputs() const {
    std::vector<const void*> p;
    for (const auto& o : original_) p.push_back(o.data());
    return p;
  }
  const void* out(uint32_t r) const { return buffers_[r].out; }
  uint64_t out_elements(uint32_t r) const {
    return block_offset(plan_.contract, sizes_, true, r, plan_.contract.out_blocks(r));
  }
  bool same_out(const World& other) const {
    for (uint32_t r = 0; r < plan_.ranks(); ++r)
      if (!equal_elements(sizes_.dtype, out(r), other.out(r), out_elements(r))) return false;
    return true;
  }

 private:
  // Floats: numbers of very different sizes, so that every rounding shows. Integers: all bits.
  void fill(unsigned char* p, uint64_t elements, uint64_t seed) const {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint64_t i = 0; i < elements; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      uint32_t bytes = size_bytes(sizes_.dtype);
      if (!is_float(sizes_.dtype)) {
        std::copy_n(reinterpret_cast<const unsigned char*>(&x), bytes, p + i * bytes);
        continue;
      }
      double value = static_cast<double>(x % 4096) / 1024 + 1e-3 * static_cast<double>(x >> 40 & 7);
      store_double(sizes_.dtype, (x >> 50 & 1) != 0 ? -value : value, p + i * bytes);
    }
  }
  const Plan& plan_;
  Sizes sizes_;
  std::vector<std::vector<unsigned char>> memory_, apart_, original_;
  std::vector<RankBuffers> buffers_;
};

inline std::vector<double> factors(uint32_t ranks) {
  std::vector<double> f;
  for (uint32_t r = 0; r < ranks; ++r) f.push_back(0.3 + 0.7 * r);
  return f;
}

inline CallSpec spec_of(const Plan& plan, DType type, RedOp op, uint64_t count, uint64_t slot_bytes = 128 * 1024) {
  CallSpec spec;
  spec.sizes = {count, type, {}};
  spec.op = op;
  if (op == RedOp::kPremul) spec.premul = factors(plan.ranks());
  spec.slot_bytes = slot_bytes;
  return spec;
}

}  // namespace coll::hand
