#include "ir/complete.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

namespace coll {

namespace {

// Contributions of a value: how many, and a sum of their hashes (used where the number alone does not tell a full set
// from another one of the same size: a user's own contract may promise sets of several sizes).
struct Contents {
  uint32_t count = 0;
  uint64_t hash = 0;
  bool divided = false;  // it was complete, so avg has divided it; not part of what it is compared by
  Contents& operator+=(const Contents& o) {
    count += o.count;
    hash += o.hash;
    divided |= o.divided;
    return *this;
  }
  auto key() const { return std::pair(count, hash); }
  bool operator<(const Contents& o) const { return key() < o.key(); }
};

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Contents contribution(uint32_t rank, uint32_t block) {
  return {1, mix(static_cast<uint64_t>(rank) << 32 | block), false};
}

// Sets that count as full.
class FullSets {
 public:
  // (A barrier's token has no value, and may count a rank twice.)
  explicit FullSets(const Contract& c)
      : ranks_(c.ranks), custom_(c.kind == ContractKind::kCustom || c.kind == ContractKind::kBarrier) {
    for (const Ensure& e : c.ensures) {
      if (!e.reduce) continue;
      Contents sum;
      for (const InBlock& b : e.from) sum += contribution(b.rank, b.block);
      sets_.push_back(sum);
    }
    std::sort(sets_.begin(), sets_.end());
  }
  bool contains(const Contents& c) const {
    return custom_ ? std::binary_search(sets_.begin(), sets_.end(), c) : c.count == ranks_;
  }

 private:
  uint32_t ranks_;
  bool custom_;
  std::vector<Contents> sets_;
};

// Contents of every written place of `out` and scratch; those of `in` are what they are.
class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan) {
    size_t size = 0;
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      scratch_.push_back(size);
      size += plan.scratch_places[r];
      for (uint16_t g = 0; g < plan.grids.size(); ++g) {
        out_.push_back(size);
        size += plan.places(r, buffers::kOut, g);
      }
    }
    values_.resize(size);
  }
  Contents read(uint32_t rank, uint16_t buffer, uint16_t grid, uint32_t place) const {
    if (buffer == buffers::kIn) return contribution(rank, place / plan_.grids[grid].parts);
    return values_[index(rank, buffer, grid, place)];
  }
  void write(uint32_t rank, uint16_t buffer, uint16_t grid, uint32_t place, const Contents& c) {
    if (buffer != buffers::kIn) values_[index(rank, buffer, grid, place)] = c;
  }

 private:
  size_t index(uint32_t rank, uint16_t buffer, uint16_t grid, uint32_t place) const {
    return place + (buffer == buffers::kScratch ? scratch_[rank] : out_[rank * plan_.grids.size() + grid]);
  }
  const Plan& plan_;
  std::vector<size_t> scratch_, out_;
  std::vector<Contents> values_;
};

}  // namespace

std::vector<uint32_t> witness_order(const Plan& plan) {
  std::vector<uint32_t> order(plan.instructions.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return plan.instructions[a].order < plan.instructions[b].order; });
  return order;
}

Completion::Completion(const Plan& plan) : divisors_(plan.instructions.size(), 0) {
  std::vector<uint32_t> rank_of(plan.instructions.size());
  for (const Lane& lane : plan.lanes) std::fill_n(rank_of.begin() + lane.first, lane.count, lane.rank);
  FullSets full(plan.contract);
  Memory memory(plan);
  std::vector<std::deque<std::vector<Contents>>> messages(plan.connections.size());
  std::vector<Contents> result, incoming;

  for (uint32_t index : witness_order(plan)) {
    const Instruction& instruction = plan.instructions[index];
    if (instruction.op == Opcode::kSignal || instruction.op == Opcode::kWait) continue;
    uint32_t rank = rank_of[index];
    result.assign(instruction.length, {});
    for (const Operand& o : plan.sources(instruction)) {
      if (o.space == Space::kConnection) {
        incoming.assign(instruction.length, {});
        if (!messages[o.rank].empty()) {
          incoming = std::move(messages[o.rank].front());
          messages[o.rank].pop_front();
          incoming.resize(instruction.length);
        }
        for (uint32_t i = 0; i < instruction.length; ++i) result[i] += incoming[i];
        continue;
      }
      for (uint32_t i = 0; i < instruction.length; ++i) {
        if (o.space == Space::kGroup)
          for (uint32_t member : plan.groups[o.rank].ranks)
            result[i] += memory.read(member, o.buffer, instruction.grid, o.place + i);
        else
          result[i] += memory.read(o.space == Space::kPeer ? o.rank : rank, o.buffer, instruction.grid, o.place + i);
      }
    }
    if (info(instruction.op).reduces) {
      for (Contents& c : result) {
        can_average_ &= !c.divided;
        c.divided = full.contains(c);
      }
    }
    for (const Operand& o : plan.destinations(instruction)) {
      if (o.space == Space::kConnection) {
        messages[o.rank].push_back(result);
        continue;
      }
      for (uint32_t i = 0; i < instruction.length; ++i) {
        if (o.space == Space::kGroup)
          for (uint32_t member : plan.groups[o.rank].ranks)
            memory.write(member, o.buffer, instruction.grid, o.place + i, result[i]);
        else
          memory.write(o.space == Space::kPeer ? o.rank : rank, o.buffer, instruction.grid, o.place + i, result[i]);
      }
    }
    if (!info(instruction.op).reduces) continue;
    auto divisor_of = [&](uint32_t i) { return full.contains(result[i]) ? result[i].count : 0; };
    divisors_[index] = divisor_of(0);
    for (uint32_t i = 1; i < instruction.length; ++i)
      if (divisor_of(i) != divisors_[index]) divisors_[index] = kDiffers;
    if (divisors_[index] != kDiffers) continue;
    for (uint32_t i = 0; i < instruction.length; ++i) places_.push_back({index, i, divisor_of(i)});
  }
  std::sort(places_.begin(), places_.end());
}

uint32_t Completion::divisor(uint32_t instruction, uint32_t i) const {
  if (divisors_[instruction] != kDiffers) return divisors_[instruction];
  return std::lower_bound(places_.begin(), places_.end(), Place{instruction, i, 0})->divisor;
}

}  // namespace coll
