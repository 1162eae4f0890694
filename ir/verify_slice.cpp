#include "ir/verify_slice.h"

#include <algorithm>
#include <unordered_map>

namespace coll::verifier {

namespace {

// Keys of memory: places of out, then of scratch. Maps of keys are only looked up, or sorted after a walk.
constexpr ValueKey kLeaf = 1ull << 62, kMessage = 1ull << 63;
ValueKey message_key(uint32_t connection, uint64_t n) { return kMessage | static_cast<uint64_t>(connection) << 36 | n; }

uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

}  // namespace

Slice Slicer::walk(std::span<const ValueKey> keys, uint32_t end) const {
  const Plan& plan = t_.plan;
  // Weights still to be explained, and how many places each connection has carried up to here.
  std::unordered_map<ValueKey, uint64_t> needed, leaves;
  std::vector<uint64_t> sent(plan.connections.size(), 0), received(plan.connections.size(), 0);
  for (uint32_t p = 0; p < end; ++p) {
    uint32_t i = order_[p];
    if (t_.ends[i].take != kNone) received[t_.ends[i].take] += plan.instructions[i].length;
    if (t_.ends[i].give != kNone) sent[t_.ends[i].give] += plan.instructions[i].length;
  }
  auto need = [&](ValueKey key, uint64_t weight) {
    uint64_t& to = ((key & (kLeaf | kMessage)) == kLeaf ? leaves : needed)[key];
    to = add(to, weight);
  };
  for (ValueKey key : keys) need(key, 1);

  Slice slice;
  for (uint32_t p = end; p-- > 0 && !needed.empty();) {
    uint32_t id = order_[p], self = t_.rank_of(id);
    const Instruction& in = plan.instructions[id];
    Ends ends = t_.ends[id];
    if (ends.give != kNone) sent[ends.give] -= in.length;
    if (ends.take != kNone) received[ends.take] -= in.length;
    if (in.source_count == 0) continue;
    for (uint32_t i = 0; i < in.length; ++i) {
      auto each_key = [&](std::span<const Operand> operands, const std::vector<uint64_t>& carried, auto f) {
        auto key_of = [&](const Operand& o, uint32_t owner) -> ValueKey {
          if (o.buffer == buffers::kIn) return kLeaf | t_.in_index(owner, in.grid, o.place + i);
          if (o.buffer == buffers::kOut) return t_.out_index(owner, in.grid, o.place + i);
          return static_cast<uint64_t>(t_.out_base.back()) + t_.scratch_base[owner] + o.place + i;
        };
        for (const Operand& o : operands) {
          if (o.space == Space::kConnection) {
            f(message_key(o.rank, carried[o.rank] + i));
          } else if (o.space == Space::kGroup) {
            for (uint32_t member : plan.groups[o.rank].ranks) f(key_of(o, member));
          } else {
            f(key_of(o, o.space == Space::kPeer ? o.rank : self));
          }
        }
      };
      uint64_t weight = 0;
      each_key(plan.destinations(in), sent, [&](ValueKey key) {
        auto found = needed.find(key);
        if (found == needed.end()) return;
        weight = add(weight, found->second);
        needed.erase(found);
      });
      if (weight == 0) continue;
      Slice::Step step{p, static_cast<uint32_t>(slice.keys.size()), 0};
      each_key(plan.sources(in), received, [&](ValueKey key) {
        slice.keys.push_back(key);
        need(key, weight);
      });
      step.sources = static_cast<uint32_t>(slice.keys.size()) - step.first;
      each_key(plan.destinations(in), sent, [&](ValueKey key) { slice.keys.push_back(key); });
      slice.steps.push_back(step);
    }
  }
  for (auto [key, count] : leaves) slice.contributions.push_back({static_cast<uint32_t>(key & ~kLeaf), count});
  std::sort(slice.contributions.begin(), slice.contributions.end(),
            [](const Contribution& a, const Contribution& b) { return a.leaf < b.leaf; });
  return slice;
}

Slice Slicer::of_place(uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place, uint32_t end) const {
  ValueKey key = buffer == buffers::kOut ? t_.out_index(rank, grid, place)
                                         : static_cast<uint64_t>(t_.out_base.back()) + t_.scratch_base[rank] + place;
  return walk({&key, 1}, end);
}

std::vector<Contribution> Slicer::contributions(std::span<const ValueKey> keys, uint32_t position) const {
  return walk(keys, position).contributions;
}

// Runs the slice forward. A State is joined by +=; the first fold whose sources are each right and together wrong is
// the culprit, and the source that made it so.
template <class State, class Leaf, class Wrong>
std::optional<Culprit> Slicer::first(const Slice& slice, Leaf leaf, Wrong wrong) const {
  std::unordered_map<ValueKey, State> held;
  for (size_t s = slice.steps.size(); s-- > 0;) {
    const Slice::Step& step = slice.steps[s];
    size_t end = s + 1 < slice.steps.size() ? slice.steps[s + 1].first : slice.keys.size();
    std::span<const ValueKey> sources(slice.keys.data() + step.first, step.sources);
    State sum{};
    for (size_t n = 0; n < sources.size(); ++n) {
      State value = (sources[n] & (kLeaf | kMessage)) == kLeaf ? leaf(static_cast<uint32_t>(sources[n] & ~kLeaf))
                                                               : held[sources[n]];
      bool right = !wrong(sum) && !wrong(value);
      sum += value;
      if (right && wrong(sum))
        return Culprit{
            step.position, {sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(n)}, {sources[n]}};
    }
    for (size_t k = step.first + step.sources; k < end; ++k) held[slice.keys[k]] = sum;
  }
  return std::nullopt;
}

std::optional<Culprit> Slicer::first_mix(const Slice& slice, std::span<const uint32_t> wanted) const {
  struct Kinds {
    bool wanted = false, foreign = false;
    void operator+=(const Kinds& o) {
      wanted |= o.wanted;
      foreign |= o.foreign;
    }
  };
  auto leaf = [&](uint32_t id) {
    bool known = std::binary_search(wanted.begin(), wanted.end(), id);
    return Kinds{known, !known};
  };
  return first<Kinds>(slice, leaf, [](const Kinds& k) { return k.wanted && k.foreign; });
}

std::optional<Culprit> Slicer::first_recount(const Slice& slice, uint32_t counted) const {
  struct Count {
    uint64_t n = 0;
    void operator+=(const Count& o) { n = add(n, o.n); }
  };
  return first<Count>(slice, [&](uint32_t id) { return Count{id == counted}; }, [](const Count& c) { return c.n > 1; });
}

}  // namespace coll::verifier
