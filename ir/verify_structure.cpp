// The structure check: everything that can be judged without running the plan. It also fills the tables.
//
// Order of the checks: what would make the next check index out of range comes first (header, lanes, operands), then
// the rules that make one run speak for all (one lane at each end of a connection and of a counter), then extents at
// the two ends of each message, then a target's limits.
#include <fmt/format.h>

#include <algorithm>

#include "ir/opcode_shape.h"
#include "ir/verify_story.h"
#include "ir/verify_tables.h"

namespace coll::verifier {

namespace {

using uint128 = unsigned __int128;

class Structure {
 public:
  Structure(Tables& t, const VerifyOptions& options, VerifyResult& result)
      : t_(t), plan_(t.plan), options_(options), result_(result) {}

  bool check() {
    return check_header() && check_grids() && check_places() && check_lanes() && check_instructions() && check_ends() &&
           check_limits();
  }

 private:
  bool malformed(std::string line) { return refuse(result_, Fault::kMalformed, {std::move(line)}); }
  bool cannot(std::string line) {
    refuse(result_, Fault::kLimit, {std::move(line)});
    result_.verdict = Verdict::kCannotBeJudged;
    return false;
  }

  bool check_header() {
    const Contract& c = plan_.contract;
    if (plan_.only_rank != kAllRanks) {
      refuse(
          result_, Fault::kMalformed,
          {fmt::format("the plan holds the part of rank {} alone; compile all ranks to verify it", plan_.only_rank)});
      result_.verdict = Verdict::kCannotBeJudged;
      return false;
    }
    if (c.ranks == 0) return malformed("the plan has no ranks");
    if (c.root >= c.ranks || c.dst >= c.ranks) return malformed("the contract names a root that is not a rank");
    if (plan_.instances == 0) return malformed("the plan has no instances");
    for (const Ensure& e : c.ensures) {
      bool ok = c.kind == ContractKind::kCustom && e.rank < c.ranks && e.block < c.custom_out && !e.from.empty() &&
                (e.reduce || e.from.size() == 1) && std::is_sorted(e.from.begin(), e.from.end());
      for (const InBlock& b : e.from) ok = ok && b.rank < c.ranks && b.block < c.custom_in;
      if (!ok)
        return malformed(fmt::format("the contract's promise for out[{}] of rank {} is not one", e.block, e.rank));
    }
    if (!std::is_sorted(c.ensures.begin(), c.ensures.end(), [](const Ensure& a, const Ensure& b) {
          return std::pair(a.rank, a.block) < std::pair(b.rank, b.block);
        }))
      return malformed("the contract's promises are not in order of rank and block");
    if (plan_.scratch_places.size() != c.ranks)
      return malformed(fmt::format("scratch is given for {} ranks of {}", plan_.scratch_places.size(), c.ranks));
    if (plan_.inplace && !c.offers_inplace())
      return refuse(result_, Fault::kInPlace,
                    {fmt::format("the plan may be called in place, but `{}` does not offer it", c.name)});
    for (const Connection& k : plan_.connections)
      if (k.source >= c.ranks || k.destination >= c.ranks)
        return malformed("a connection has an end outside the world");
    for (const Counter& k : plan_.counters)
      if (k.owner >= c.ranks || k.signaller >= c.ranks) return malformed("a counter has an end outside the world");
    for (const Group& group : plan_.groups) {
      std::vector<uint32_t> sorted = group.ranks;
      std::sort(sorted.begin(), sorted.end());
      if (sorted.empty() || sorted.back() >= c.ranks ||
          std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        return malformed("a group must be a set of ranks of the world, each once");
    }
    return true;
  }

  // The grids' shares are the whole block: no element in two of them, none in none.
  bool check_grids() {
    if (plan_.grids.empty()) return malformed("the plan has no grid");
    std::vector<const Grid*> sorted;
    for (const Grid& g : plan_.grids) {
      if (g.parts == 0 || g.denominator == 0 || g.lo > g.hi || g.hi > g.denominator)
        return malformed("a grid must cut a share of the block into at least one part");
      if (g.lo < g.hi) sorted.push_back(&g);
    }
    auto cross = [](uint64_t n, uint64_t d) { return static_cast<uint128>(n) * d; };
    std::sort(sorted.begin(), sorted.end(), [&](const Grid* a, const Grid* b) {
      return cross(a->lo, b->denominator) < cross(b->lo, a->denominator);
    });
    if (sorted.empty() || sorted[0]->lo != 0 || sorted.back()->hi != sorted.back()->denominator)
      return refuse(result_, Fault::kMissing, {"the grids' shares do not cover the whole block"});
    for (size_t g = 1; g < sorted.size(); ++g) {
      uint128 end = cross(sorted[g - 1]->hi, sorted[g]->denominator);
      uint128 begin = cross(sorted[g]->lo, sorted[g - 1]->denominator);
      if (end > begin) return malformed("the shares of two grids overlap");
      if (end < begin) return refuse(result_, Fault::kMissing, {"the grids' shares do not cover the whole block"});
    }
    return true;
  }

  bool check_places() {
    constexpr uint64_t kMost = 1ull << 31;
    uint32_t ranks = plan_.ranks();
    t_.parts_before.assign(1, 0);
    uint64_t parts = 0;
    for (const Grid& g : plan_.grids) {
      parts += g.parts;
      if (g.parts >= 1u << 24 || plan_.grids.size() >= 1u << 12 || parts > kMost)
        return cannot("the grids have more parts than the verifier can name");
      t_.parts_before.push_back(static_cast<uint32_t>(parts));
    }
    if (plan_.contract.kind == ContractKind::kAllToAllV && ranks >= 1u << 14)
      return cannot("alltoallv is judged for fewer than 16384 ranks");
    uint64_t in = 0, out = 0, scratch = 0;
    for (uint32_t r = 0; r < ranks; ++r) {
      t_.in_blocks.push_back(plan_.contract.in_blocks(r));
      t_.out_blocks.push_back(plan_.contract.out_blocks(r));
      t_.in_base.push_back(static_cast<uint32_t>(in));
      t_.out_base.push_back(static_cast<uint32_t>(out));
      t_.scratch_base.push_back(static_cast<uint32_t>(scratch));
      in += t_.in_blocks[r] * parts;
      out += t_.out_blocks[r] * parts;
      scratch += plan_.scratch_places[r];
      if (in > kMost || out > kMost || scratch > kMost) return cannot("the plan has more places than can be judged");
    }
    t_.in_base.push_back(static_cast<uint32_t>(in));
    t_.out_base.push_back(static_cast<uint32_t>(out));
    t_.scratch_base.push_back(static_cast<uint32_t>(scratch));
    return true;
  }

  bool check_lanes() {
    uint32_t ranks = plan_.ranks();
    t_.rank_lanes.assign(ranks + 1, 0);
    uint64_t next = 0;
    if (plan_.instructions.size() >= 1ull << 31) return cannot("the plan has more instructions than can be judged");
    for (size_t l = 0; l < plan_.lanes.size(); ++l) {
      const Lane& lane = plan_.lanes[l];
      if (lane.rank >= ranks) return malformed(fmt::format("lane {} is of a rank outside the world", l));
      if (l > 0 && lane.rank < plan_.lanes[l - 1].rank) return malformed("lanes are not in order of their ranks");
      if (lane.first != next) return malformed("the lanes do not follow each other in the list of instructions");
      next += lane.count;
      if (next > plan_.instructions.size()) return malformed("a lane goes past the end of the instructions");
      ++t_.rank_lanes[lane.rank + 1];
    }
    if (next != plan_.instructions.size()) return malformed("an instruction is in no lane");
    for (uint32_t r = 0; r < ranks; ++r) {
      if (t_.rank_lanes[r + 1] > 1) t_.many_lanes = true;
      t_.rank_lanes[r + 1] += t_.rank_lanes[r];
    }
    t_.lane_of.resize(plan_.instructions.size());
    for (uint32_t l = 0; l < plan_.lanes.size(); ++l)
      std::fill_n(t_.lane_of.begin() + plan_.lanes[l].first, plan_.lanes[l].count, l);
    return true;
  }

  bool check_instructions() {
    t_.ends.resize(t_.size());
    t_.flags.assign(t_.size(), 0);
    t_.connections.resize(plan_.connections.size());
    t_.counters.resize(plan_.counters.size());
    received_.assign(plan_.connections.size(), 0);
    highest_wait_.assign(plan_.counters.size(), 0);
    for (uint32_t l = 0; l < plan_.lanes.size(); ++l) {
      const Lane& lane = plan_.lanes[l];
      for (uint32_t i = lane.first; i < lane.first + lane.count; ++i)
        if (!check_instruction(lane.rank, l, i)) return false;
    }
    return true;
  }

  bool check_instruction(uint32_t rank, uint32_t lane, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    if (static_cast<uint32_t>(i.op) > static_cast<uint32_t>(Opcode::kSwitchReduce))
      return refuse_at_raw(id, "an opcode that does not exist");
    uint64_t operands_end = static_cast<uint64_t>(i.first_operand) + i.source_count + i.destination_count;
    if (operands_end > plan_.operands.size()) return refuse_at_raw(id, "operands that are not in the plan");
    if (const char* reason = shape_error(plan_, rank, i)) return refuse_at_raw(id, reason);
    if (!check_after(rank, id)) return false;

    if (i.op == Opcode::kSignal || i.op == Opcode::kWait) return note_counter(lane, id);
    for (const Operand& o : plan_.destinations(i)) {
      if (o.space != Space::kConnection && o.buffer == buffers::kIn)
        return refuse_at(t_, result_, Fault::kWritesIn, id,
                         {fmt::format("{} writes {}: `in` belongs to the caller and is only read", who(t_, id),
                                      name_of(o, rank, i, 0))});
      if (o.space == Space::kPeer || o.space == Space::kGroup) t_.reaches_peers = true;
    }
    for (const Operand& o : plan_.sources(i)) {
      if (o.space != Space::kPeer && o.space != Space::kGroup) continue;
      t_.reaches_peers = true;
      result_.peers_read_in |= o.buffer == buffers::kIn;
    }
    return check_fit(rank, id) && check_overlap(rank, id) && note_connections(lane, id);
  }

  bool refuse_at_raw(uint32_t id, const char* reason) {
    uint32_t lane = t_.lane_of[id];
    std::string what = static_cast<uint32_t>(plan_.instructions[id].op) <= static_cast<uint32_t>(Opcode::kSwitchReduce)
                           ? who(t_, id)
                           : fmt::format("rank {} lane {} step {}", plan_.lanes[lane].rank,
                                         lane - t_.rank_lanes[plan_.lanes[lane].rank], t_.step_of(id));
    return refuse_at(t_, result_, Fault::kMalformed, id, {fmt::format("{} has {}", what, reason)});
  }

  bool check_after(uint32_t rank, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    if (i.after_count == 0) return true;
    if (static_cast<uint64_t>(i.first_after) + i.after_count > plan_.after.size())
      return refuse_at_raw(id, "an `after` list that is not in the plan");
    for (const After& a : plan_.afters(i)) {
      uint32_t lanes = t_.rank_lanes[rank + 1] - t_.rank_lanes[rank];
      if (a.lane >= lanes || a.step >= plan_.lanes[t_.rank_lanes[rank] + a.lane].count)
        return refuse_at(t_, result_, Fault::kMalformed, id,
                         {fmt::format("{} waits for lane {} step {}, which rank {} does not have", who(t_, id), a.lane,
                                      a.step, rank)});
    }
    t_.flags[id] |= Tables::kHasAfter;
    return true;
  }

  std::string name_of(const Operand& o, uint32_t rank, const Instruction& i, uint32_t index) {
    uint32_t owner = o.space == Space::kPeer ? o.rank : rank;
    return place_name(t_, owner, o.buffer, i.grid, o.place + index);
  }

  // Extents: what is moved is part q of its grid; the place of a user buffer is part j of its block. j <= q, or some
  // count would have the instruction run past the end of the place.
  bool check_fit(uint32_t rank, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    uint32_t parts = plan_.grids[i.grid].parts;
    if (parts == 1) return check_pairs(rank, id);
    const Operand* operands = plan_.operands.data() + i.first_operand;
    for (uint32_t o = 0; o < static_cast<uint32_t>(i.source_count) + i.destination_count; ++o) {
      const Operand& operand = operands[o];
      if (operand.space == Space::kConnection || operand.buffer == buffers::kScratch) continue;
      if (i.first_part == kLongestPart)
        return refuse_at(t_, result_, Fault::kDoesNotFit, id,
                         {fmt::format("{} moves the longest extent, and {} is shorter for some counts", who(t_, id),
                                      name_of(operand, rank, i, 0))});
      if (operand.place % parts == i.first_part) continue;
      for (uint32_t n = 0; n < i.length; ++n) {
        uint32_t moved = moved_part(i, parts, n), place = (operand.place + n) % parts;
        if (place <= moved) continue;
        return refuse_at(t_, result_, Fault::kDoesNotFit, id,
                         {fmt::format("{} moves part {} of {}, and {} is place {}: it is shorter for some counts",
                                      who(t_, id), moved, parts, name_of(operand, rank, i, n), place)});
      }
    }
    return check_pairs(rank, id);
  }

  // alltoallv: the length of block (i, j) is known to ranks i and j only. All user buffers of one instruction must
  // speak of the same one.
  uint64_t pair_of(uint32_t rank, const Instruction& i, uint32_t n) const {
    uint64_t pair = 0;
    const Operand* operands = plan_.operands.data() + i.first_operand;
    for (uint32_t o = 0; o < static_cast<uint32_t>(i.source_count) + i.destination_count; ++o)
      if (uint64_t p = pair_of_operand(rank, i, operands[o], n)) return p;
    return pair;
  }
  uint64_t pair_of_operand(uint32_t rank, const Instruction& i, const Operand& o, uint32_t n) const {
    if (o.space == Space::kConnection || o.buffer == buffers::kScratch) return 0;
    uint64_t owner = o.space == Space::kPeer ? o.rank : rank;
    uint64_t block = (o.place + n) / plan_.grids[i.grid].parts;
    return 1 + (o.buffer == buffers::kIn ? owner * plan_.ranks() + block : block * plan_.ranks() + owner);
  }
  bool check_pairs(uint32_t rank, uint32_t id) {
    if (plan_.contract.kind != ContractKind::kAllToAllV) return true;
    const Instruction& i = plan_.instructions[id];
    const Operand* operands = plan_.operands.data() + i.first_operand;
    for (uint32_t n = 0; n < i.length; ++n) {
      uint64_t pair = pair_of(rank, i, n);
      for (uint32_t o = 0; o < static_cast<uint32_t>(i.source_count) + i.destination_count; ++o) {
        uint64_t other = pair_of_operand(rank, i, operands[o], n);
        if (other == 0 || (other == pair && operands[o].space != Space::kGroup)) continue;
        return refuse_at(
            t_, result_, Fault::kDoesNotFit, id,
            {fmt::format("{} moves blocks of alltoallv that have lengths of their own into each other", who(t_, id))});
      }
    }
    return true;
  }

  // An instruction goes through its places one after the other, so a destination that is a source shifted by some
  // places would be read after it was written.
  bool check_overlap(uint32_t rank, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    for (uint32_t d = 0; d < i.destination_count; ++d) {
      const Operand& to = plan_.destinations(i)[d];
      if (to.space == Space::kConnection) continue;
      for (uint32_t e = d + 1; e < i.destination_count; ++e) {
        const Operand& other = plan_.destinations(i)[e];
        if (other.space == Space::kConnection || other.buffer != to.buffer || other.place >= to.place + i.length ||
            to.place >= other.place + i.length)
          continue;
        return refuse_at(t_, result_, Fault::kRace, id,
                         {fmt::format("{} writes {} twice", who(t_, id),
                                      name_of(other, rank, i, std::max(to.place, other.place) - other.place))});
      }
      for (const Operand& from : plan_.sources(i)) {
        if (from.space == Space::kConnection || !share_memory(rank, to, from)) continue;
        int64_t begin = from.place;
        bool aliased = false;
        if (from.buffer == buffers::kIn) {
          if (!plan_.inplace || to.buffer != buffers::kOut) continue;
          uint32_t owner = from.space == Space::kPeer ? from.rank : rank;
          begin += plan_.contract.inplace_shift(owner) * static_cast<int64_t>(plan_.grids[i.grid].parts);
          aliased = true;
        } else if (from.buffer != to.buffer) {
          continue;
        }
        int64_t distance = begin - to.place;
        if (distance == 0 || distance >= i.length || -distance >= static_cast<int64_t>(i.length)) continue;
        return refuse_at(t_, result_, aliased ? Fault::kInPlace : Fault::kRace, id,
                         {fmt::format("{} writes {} over places that it still has to read{}", who(t_, id),
                                      name_of(to, rank, i, 0), aliased ? " when called in place" : "")});
      }
    }
    return true;
  }
  bool share_memory(uint32_t rank, const Operand& to, const Operand& from) const {
    auto touches = [&](const Operand& o, uint32_t r) {
      if (o.space != Space::kGroup) return r == (o.space == Space::kPeer ? o.rank : rank);
      const std::vector<uint32_t>& members = plan_.groups[o.rank].ranks;
      return std::find(members.begin(), members.end(), r) != members.end();
    };
    if (to.space == Space::kGroup && from.space == Space::kGroup) {
      for (uint32_t r : plan_.groups[to.rank].ranks)
        if (touches(from, r)) return true;
      return false;
    }
    if (to.space == Space::kGroup) return touches(to, from.space == Space::kPeer ? from.rank : rank);
    return touches(from, to.space == Space::kPeer ? to.rank : rank);
  }

  bool note_connections(uint32_t lane, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    for (uint32_t o = 0; o < static_cast<uint32_t>(i.source_count) + i.destination_count; ++o) {
      const Operand& operand = plan_.operands[i.first_operand + o];
      if (operand.space != Space::kConnection) continue;
      bool takes = o < i.source_count;
      ConnectionEnds& c = t_.connections[operand.rank];
      uint32_t& owner = takes ? c.receive_lane : c.send_lane;
      if (owner == kNone) owner = lane;
      if (owner != lane) {
        const Connection& k = plan_.connections[operand.rank];
        return refuse_at(t_, result_, Fault::kConnectionShared, id,
                         {fmt::format("{} {} the connection from rank {} to rank {} on channel {}, and so does lane {}",
                                      who(t_, id), takes ? "receives from" : "sends to", k.source, k.destination,
                                      k.channel, plan_.lanes.size() > owner ? lane_in_rank(owner) : 0),
                          "the order of its messages then depends on timing, so one run does not speak for all"});
      }
      ++(takes ? received_[operand.rank] : c.messages);
      (takes ? t_.ends[id].take : t_.ends[id].give) = operand.rank;
    }
    return true;
  }

  bool note_counter(uint32_t lane, uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    bool signals = i.op == Opcode::kSignal;
    t_.flags[id] |= signals ? Tables::kSignals : Tables::kWaits;
    CounterEnds& c = t_.counters[i.counter];
    uint32_t& owner = signals ? c.signal_lane : c.wait_lane;
    if (owner == kNone) owner = lane;
    if (owner != lane)
      return refuse_at(
          t_, result_, Fault::kCounterShared, id,
          {fmt::format("{} {} counter `{}`, and so does lane {} of the same rank", who(t_, id),
                       signals ? "signals" : "waits for", plan_.counters[i.counter].name, lane_in_rank(owner)),
           "which of them comes first depends on timing, so one run does not speak for all"});
    if (signals) {
      ++c.signals;
    } else {
      highest_wait_[i.counter] = std::max(highest_wait_[i.counter], i.value);
    }
    return true;
  }

  uint32_t lane_in_rank(uint32_t lane) const { return lane - t_.rank_lanes[plan_.lanes[lane].rank]; }

  // Joins every receive to its send and every wait to its signal.
  bool check_ends() {
    for (size_t c = 0; c < plan_.connections.size(); ++c) {
      if (t_.connections[c].messages == received_[c]) continue;
      const Connection& k = plan_.connections[c];
      return refuse(result_, Fault::kUnbalanced,
                    {fmt::format("rank {} sends {} messages to rank {} on channel {}, which receives {}", k.source,
                                 t_.connections[c].messages, k.destination, k.channel, received_[c])});
    }
    for (size_t c = 0; c < plan_.counters.size(); ++c) {
      const Counter& k = plan_.counters[c];
      if (t_.counters[c].signals == highest_wait_[c]) continue;
      return refuse(result_, Fault::kUnbalanced,
                    {fmt::format("rank {} signals counter `{}` of rank {} {} times, which waits for {}", k.signaller,
                                 k.name, k.owner, t_.counters[c].signals, highest_wait_[c])});
    }
    // Senders of all messages, by connection; likewise signals.
    std::vector<uint32_t> next(plan_.connections.size() + 1, 0), signal_base(plan_.counters.size() + 1, 0);
    for (size_t c = 0; c < plan_.connections.size(); ++c) next[c + 1] = next[c] + t_.connections[c].messages;
    for (size_t c = 0; c < plan_.counters.size(); ++c) signal_base[c + 1] = signal_base[c] + t_.counters[c].signals;
    std::vector<uint32_t> senders(next.back()), signallers(signal_base.back()), taken = next, signalled = signal_base;
    for (uint32_t i = 0; i < t_.size(); ++i) {
      if (t_.ends[i].give != kNone) senders[next[t_.ends[i].give]++] = i;
      if (t_.flags[i] & Tables::kSignals) signallers[signalled[plan_.instructions[i].counter]++] = i;
    }
    t_.partner.assign(t_.size(), kNone);
    for (uint32_t i = 0; i < t_.size(); ++i) {
      if (t_.ends[i].take != kNone) {
        t_.partner[i] = senders[taken[t_.ends[i].take]++];
        if (!same_extent(t_.partner[i], i))
          return refuse_at(t_, result_, Fault::kMessageMismatch, i,
                           {fmt::format("{} receives {}", who(t_, i), extent_of(i)),
                            fmt::format("{} sends it as {}", who(t_, t_.partner[i]), extent_of(t_.partner[i]))});
      }
      if (t_.flags[i] & Tables::kWaits) {
        const Instruction& wait = plan_.instructions[i];
        t_.partner[i] = signallers[signal_base[wait.counter] + wait.value - 1];
      }
    }
    return true;
  }

  bool same_extent(uint32_t a, uint32_t b) const {
    const Instruction &x = plan_.instructions[a], &y = plan_.instructions[b];
    if (x.grid != y.grid || x.length != y.length) return false;
    if (plan_.contract.kind == ContractKind::kAllToAllV)
      for (uint32_t n = 0; n < x.length; ++n)
        if (pair_of(t_.rank_of(a), x, n) != pair_of(t_.rank_of(b), y, n)) return false;
    if (x.first_part == y.first_part || plan_.grids[x.grid].parts == 1) return true;
    auto zero = [](const Instruction& i) { return i.first_part == 0 || i.first_part == kLongestPart; };
    return x.length == 1 && zero(x) && zero(y);
  }
  std::string extent_of(uint32_t id) const {
    const Instruction& i = plan_.instructions[id];
    std::string parts = i.first_part == kLongestPart
                            ? "as long as the longest part"
                            : fmt::format("from part {} of {}", i.first_part, plan_.grids[i.grid].parts);
    return fmt::format("{} place{} {}{}", i.length, i.length == 1 ? "" : "s", parts,
                       plan_.grids.size() > 1 ? fmt::format(" of grid {}", i.grid) : "");
  }

  bool check_limits() {
    const TargetLimits& limits = options_.limits;
    const std::string& target = limits.name;
    auto exceeded = [&](std::string what) {
      return refuse(result_, Fault::kLimit, {fmt::format("{}{}", what, target.empty() ? "" : " of " + target)});
    };
    for (uint32_t r = 0; r < plan_.ranks(); ++r) {
      uint32_t lanes = t_.rank_lanes[r + 1] - t_.rank_lanes[r];
      if (lanes > limits.max_lanes_per_rank)
        return exceeded(fmt::format("rank {} has {} lanes, over the limit of {}", r, lanes, limits.max_lanes_per_rank));
      if (plan_.scratch_places[r] > limits.max_scratch_places)
        return exceeded(fmt::format("rank {} has {} scratch places, over the limit of {}", r, plan_.scratch_places[r],
                                    limits.max_scratch_places));
    }
    std::vector<uint32_t> channels;
    for (const Connection& c : plan_.connections) channels.push_back(c.channel);
    std::sort(channels.begin(), channels.end());
    channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
    if (channels.size() > limits.max_channels)
      return exceeded(
          fmt::format("the plan has {} channels, over the limit of {}", channels.size(), limits.max_channels));
    for (uint32_t l = 0; l < plan_.lanes.size(); ++l)
      if (plan_.lanes[l].count > limits.max_steps_per_lane)
        return exceeded(fmt::format("rank {} lane {} has {} steps, over the limit of {}", plan_.lanes[l].rank,
                                    lane_in_rank(l), plan_.lanes[l].count, limits.max_steps_per_lane));
    if (limits.max_peers_per_lane == UINT32_MAX) return true;
    for (bool sending : {true, false}) {
      std::vector<std::pair<uint32_t, uint32_t>> peers;  // (lane, peer)
      for (size_t c = 0; c < plan_.connections.size(); ++c) {
        uint32_t lane = sending ? t_.connections[c].send_lane : t_.connections[c].receive_lane;
        if (lane != kNone)
          peers.emplace_back(lane, sending ? plan_.connections[c].destination : plan_.connections[c].source);
      }
      std::sort(peers.begin(), peers.end());
      peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
      for (size_t p = 0; p < peers.size();) {
        size_t end = p;
        while (end < peers.size() && peers[end].first == peers[p].first) ++end;
        if (end - p > limits.max_peers_per_lane)
          return exceeded(fmt::format("rank {} lane {} {} {} peers, over the limit of {}",
                                      plan_.lanes[peers[p].first].rank, lane_in_rank(peers[p].first),
                                      sending ? "sends to" : "receives from", end - p, limits.max_peers_per_lane));
        p = end;
      }
    }
    return true;
  }

  Tables& t_;
  const Plan& plan_;
  const VerifyOptions& options_;
  VerifyResult& result_;
  std::vector<uint32_t> received_, highest_wait_;
};

}  // namespace

bool check_structure(Tables& t, const VerifyOptions& options, VerifyResult& result) {
  return Structure(t, options, result).check();
}

}  // namespace coll::verifier
