// Races: two accesses to a place, at least one a write, that are not ordered by happens-before (verify_order.h).
//
// Memory is judged one rank at a time, so the history of places (last write, and the readers since)
// is small. The accesses come in replay order, and since that is one possible order, only "is the earlier before the
// later?" is asked. Lanes of the rank itself are ordered by their local vector clocks, O(waits x lanes of the rank) at
// most; what those do not order, and all that peers touch, is asked of the global order.
//
// In place: places of `in` are places of `out`. A write to `out` (other than copying a place onto itself where nothing
// is reduced and so premul scales nothing) then conflicts with a read of the `in` under it. Those pairs are judged
// beside the out-of-place ones, so that one pass covers both ways of calling.
//
// Calls in a row: without direct accesses nothing but a rank's own lanes touches its memory, and a rank begins a call
// after its own lanes have ended the last, so one call is enough. With them, scratch is judged over several calls; user
// buffers exist within one call of their owner only, which check_exit asks for.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "ir/verify_order.h"
#include "ir/verify_story.h"
#include "ir/verify_tables.h"

namespace coll::verifier {

namespace {

class Races {
 public:
  Races(const Tables& t, const std::vector<uint32_t>& order, uint32_t calls, VerifyResult& result)
      : t_(t), plan_(t.plan), order_(order), calls_(t.reaches_peers ? std::max(1u, calls) : 1), result_(result) {}

  bool check() {
    if (!t_.many_lanes && !t_.reaches_peers) return true;
    sort_accesses();
    if (!check_exit()) return false;
    for (uint32_t owner = 0; owner < plan_.ranks(); ++owner)
      if (!check_owner(owner)) return false;
    return true;
  }

 private:
  // An instruction of another rank that touches memory of `owner`, at this position of the replay.
  struct Remote {
    uint32_t owner, position;
    bool scratch, user;
  };
  struct Reader {
    Node node;
    uint32_t next;
  };

  HappensBefore& order() {
    if (!before_) before_ = std::make_unique<HappensBefore>(t_, order_, calls_);
    return *before_;
  }

  void sort_accesses() {
    std::vector<uint32_t> next(plan_.ranks() + 1, 0);
    for (uint32_t i : order_) ++next[t_.rank_of(i) + 1];
    for (uint32_t r = 0; r < plan_.ranks(); ++r) next[r + 1] += next[r];
    by_rank_begin_ = next;
    awaited_.assign(t_.size(), 0);
    for (uint32_t i = 0; i < t_.size(); ++i)
      if (t_.flags[i] & Tables::kHasAfter)
        for (const After& a : plan_.afters(plan_.instructions[i])) awaited_[t_.target(t_.rank_of(i), a)] = 1;
    by_rank_.resize(order_.size());
    for (uint32_t p = 0; p < order_.size(); ++p) {
      uint32_t i = order_[p];
      by_rank_[next[t_.rank_of(i)]++] = p;
      if (!t_.reaches_peers) continue;
      const Instruction& in = plan_.instructions[i];
      for (uint32_t o = 0; o < static_cast<uint32_t>(in.source_count) + in.destination_count; ++o) {
        const Operand& operand = plan_.operands[in.first_operand + o];
        bool scratch = operand.buffer == buffers::kScratch;
        auto note = [&](uint32_t owner) {
          if (owner == t_.rank_of(i)) return;
          if (!remote_.empty() && remote_.back().position == p && remote_.back().owner == owner) {
            remote_.back().scratch |= scratch;
            remote_.back().user |= !scratch;
          } else {
            remote_.push_back({owner, p, scratch, !scratch});
          }
        };
        if (operand.space == Space::kPeer) note(operand.rank);
        if (operand.space == Space::kGroup)
          for (uint32_t member : plan_.groups[operand.rank].ranks) note(member);
      }
    }
    std::sort(remote_.begin(), remote_.end(), [](const Remote& a, const Remote& b) {
      return a.owner != b.owner ? a.owner < b.owner : a.position < b.position;
    });
    // A getred may name one owner twice with another between: one entry each.
    size_t kept = 0;
    for (size_t r = 0; r < remote_.size(); ++r) {
      if (kept > 0 && remote_[kept - 1].owner == remote_[r].owner &&
          remote_[kept - 1].position == remote_[r].position) {
        remote_[kept - 1].scratch |= remote_[r].scratch;
        remote_[kept - 1].user |= remote_[r].user;
      } else {
        remote_[kept++] = remote_[r];
      }
    }
    remote_.resize(kept);
  }

  // A user buffer is there from its owner's entry into the call to its exit. Both must be ordered with every access by
  // a peer. Of a lane's accesses to one owner the first decides about the entry and the last about the exit.
  bool check_exit() {
    std::unordered_set<uint64_t> entered;
    std::unordered_map<uint64_t, uint32_t> last;  // only looked up, never walked
    for (size_t r = 0; r < remote_.size();) {
      uint32_t owner = remote_[r].owner;
      std::vector<Node> lasts;
      std::vector<uint64_t> keys;
      for (; r < remote_.size() && remote_[r].owner == owner; ++r) {
        if (!remote_[r].user) continue;
        uint32_t i = order_[remote_[r].position];
        uint64_t key = static_cast<uint64_t>(t_.lane_of[i]) << 32 | owner;
        if (entered.insert(key).second) {
          keys.push_back(key);
          if (!order().entered_before({i, 0}, owner))
            return refuse_at(
                t_, result_, Fault::kAccessAfterExit, i,
                {fmt::format("{} touches {} before rank {} has said that it entered the call", who(t_, i),
                             touched(i, owner), owner),
                 "its buffers need not be those of this call yet: the owner must signal that it is ready"});
        }
        last[key] = i;
      }
      for (uint64_t key : keys) lasts.push_back({last[key], 0});
      if (lasts.empty() || order().all_before_exit(owner, lasts)) continue;
      uint32_t i = lasts.front().instruction;
      return refuse_at(t_, result_, Fault::kAccessAfterExit, i,
                       {fmt::format("{} touches {}, and rank {} may have left the call by then", who(t_, i),
                                    touched(i, owner), owner),
                        "the owner must wait until it is told that the access is done"});
    }
    return true;
  }

  // A place of the owner's user buffers that the instruction touches.
  std::string touched(uint32_t i, uint32_t owner) const {
    const Instruction& in = plan_.instructions[i];
    for (uint32_t o = 0; o < static_cast<uint32_t>(in.source_count) + in.destination_count; ++o) {
      const Operand& operand = plan_.operands[in.first_operand + o];
      bool there = operand.space == Space::kGroup || (operand.space == Space::kPeer && operand.rank == owner);
      if (there && operand.buffer != buffers::kScratch)
        return place_name(t_, owner, operand.buffer, in.grid, operand.place);
    }
    return fmt::format("memory of rank {}", owner);
  }

  bool check_owner(uint32_t owner) {
    auto begin = std::lower_bound(remote_.begin(), remote_.end(), owner,
                                  [](const Remote& a, uint32_t rank) { return a.owner < rank; });
    auto end = begin;
    bool remote_scratch = false;
    for (; end != remote_.end() && end->owner == owner; ++end) remote_scratch |= end->scratch;
    lanes_ = t_.rank_lanes[owner + 1] - t_.rank_lanes[owner];
    if (begin == end && lanes_ < 2) return true;

    owner_ = owner;
    first_ = t_.first_of_rank(owner);
    outs_ = t_.out_base[owner + 1] - t_.out_base[owner];
    uint32_t scratches = plan_.scratch_places[owner];
    last_write_.assign(outs_ + scratches, {});
    last_spoiler_.assign(plan_.inplace ? outs_ : 0, {});
    readers_.assign(outs_ + scratches, kNone);
    in_readers_.assign(plan_.inplace ? outs_ : 0, kNone);
    pool_.clear();
    size_t count = by_rank_begin_[owner + 1] - by_rank_begin_[owner];

    for (uint32_t call = 0; call < (remote_scratch ? calls_ : 1); ++call) {
      auto peer = begin;
      if (lanes_ > 1) start_clocks(count);
      for (uint32_t n = by_rank_begin_[owner];; ++n) {
        bool more = n < by_rank_begin_[owner + 1];
        for (; peer != end && (!more || peer->position < by_rank_[n]); ++peer)
          if (!access({order_[peer->position], call}, call > 0)) return false;
        if (!more) break;
        uint32_t i = order_[by_rank_[n]];
        if (lanes_ > 1) tick(i);
        if (!access({i, call}, call > 0)) return false;
      }
    }
    return true;
  }

  // What an instruction of the owner knows of its other lanes: how many of each one's steps come before it. A lane's
  // clock changes only where it waits for another lane, and is kept apart from the next only if somebody waits for an
  // instruction between the two; a lane that never waits has none. So hundreds of lanes that each receive once cost
  // nothing, where a clock for every instruction wrote 2 MiB for each of 512 ranks.
  void tick(uint32_t i) {
    uint32_t lane = t_.lane_of[i] - t_.rank_lanes[owner_], clock = lane_clock_[lane];
    for (const After& a : plan_.afters(plan_.instructions[i])) {
      if (clock != kNone && known(clock)[a.lane] > a.step) continue;  // known already, and with it all that it knew
      if (clock == kNone || lane_shared_[lane]) clock = next_clock(clock);
      lane_shared_[lane] = 0;
      uint32_t* mine = known(clock);
      if (uint32_t other = clock_of_[t_.target(owner_, a) - first_]; other != kNone) {
        const uint32_t* theirs = known(other);
        for (uint32_t l = 0; l < lanes_; ++l) mine[l] = std::max(mine[l], theirs[l]);
      }
      mine[a.lane] = std::max(mine[a.lane], a.step + 1);
    }
    clock_of_[i - first_] = lane_clock_[lane] = clock;
    lane_shared_[lane] |= awaited_[i];
  }
  uint32_t next_clock(uint32_t from) {
    size_t at = clocks_.size();
    clocks_.resize(at + lanes_, 0);
    if (from != kNone) std::copy_n(known(from), lanes_, clocks_.data() + at);
    return static_cast<uint32_t>(at / lanes_);
  }
  uint32_t* known(uint32_t clock) { return &clocks_[static_cast<size_t>(clock) * lanes_]; }
  void start_clocks(size_t instructions) {
    clocks_.clear();
    clock_of_.assign(instructions, kNone);
    lane_clock_.assign(lanes_, kNone);
    lane_shared_.assign(lanes_, 0);
  }

  bool access(Node node, bool scratch_only) {
    const Instruction& in = plan_.instructions[node.instruction];
    if (in.source_count == 0) return true;
    uint32_t rank = t_.rank_of(node.instruction);
    pending_.clear();
    for (const Operand& o : plan_.sources(in))
      if (touches(o, rank) && !(scratch_only && o.buffer != buffers::kScratch)) read(node, in, o);
    for (const Operand& o : plan_.destinations(in))
      if (touches(o, rank) && !(scratch_only && o.buffer != buffers::kScratch))
        write(node, in, o, copies_onto_itself(in, o));
    if (pending_.empty() || order().all_before(node, pending_)) return true;
    return tell(node, pending_.front());
  }

  bool touches(const Operand& o, uint32_t rank) const {
    if (o.space == Space::kLocal) return rank == owner_;
    if (o.space == Space::kPeer) return o.rank == owner_;
    if (o.space == Space::kConnection) return false;
    const std::vector<uint32_t>& members = plan_.groups[o.rank].ranks;
    return std::find(members.begin(), members.end(), owner_) != members.end();
  }

  bool copies_onto_itself(const Instruction& in, const Operand& to) const {
    if (in.op != Opcode::kCopy || to.buffer != buffers::kOut || plan_.contract.reduces()) return false;
    const Operand& from = plan_.sources(in)[0];
    return from.buffer == buffers::kIn && t_.alias_of_in(owner_, in.grid, from.place) == to.place;
  }

  uint32_t index(const Instruction& in, const Operand& o) const {
    return o.buffer == buffers::kScratch ? outs_ + o.place
                                         : t_.out_index(owner_, in.grid, o.place) - t_.out_base[owner_];
  }

  void read(Node node, const Instruction& in, const Operand& o) {
    for (uint32_t n = 0; n < in.length; ++n) {
      if (o.buffer != buffers::kIn) {
        uint32_t at = index(in, o) + n;
        ask(last_write_[at], node);
        add_reader(readers_[at], node);
      } else if (plan_.inplace) {
        uint32_t alias = t_.alias_of_in(owner_, in.grid, o.place + n);
        if (alias == kNone) continue;
        uint32_t at = t_.out_index(owner_, in.grid, alias) - t_.out_base[owner_];
        ask(last_spoiler_[at], node);
        add_reader(in_readers_[at], node);
      }
    }
  }

  void write(Node node, const Instruction& in, const Operand& o, bool onto_itself) {
    uint32_t first = index(in, o);
    for (uint32_t n = 0; n < in.length; ++n) {
      uint32_t at = first + n;
      ask(last_write_[at], node);
      ask_readers(readers_[at], node);
      last_write_[at] = node;
      if (o.buffer != buffers::kOut || !plan_.inplace || onto_itself) continue;
      ask_readers(in_readers_[at], node);
      last_spoiler_[at] = node;
    }
  }

  // A lane's reads in a row are one entry, its last; a search for an older entry of the lane would cost as much as
  // there are lanes at every read. Entries are asked once and dropped by the next write.
  void add_reader(uint32_t& head, Node node) {
    if (head != kNone && t_.lane_of[pool_[head].node.instruction] == t_.lane_of[node.instruction]) {
      pool_[head].node = node;
      return;
    }
    pool_.push_back({node, head});
    head = static_cast<uint32_t>(pool_.size() - 1);
  }

  void ask_readers(uint32_t& head, Node node) {
    for (uint32_t r = head; r != kNone; r = pool_[r].next) ask(pool_[r].node, node);
    head = kNone;
  }

  // Notes the pair if nothing local orders it.
  void ask(Node earlier, Node later) {
    if (earlier.instruction == kNone || earlier == later) return;
    uint32_t lane = t_.lane_of[earlier.instruction];
    if (lane == t_.lane_of[later.instruction]) return;
    if (plan_.lanes[lane].rank == t_.rank_of(later.instruction)) {
      if (earlier.call < later.call) return;
      if (plan_.lanes[lane].rank == owner_) {
        uint32_t clock = clock_of_[later.instruction - first_];
        if (clock != kNone && known(clock)[lane - t_.rank_lanes[owner_]] > t_.step_of(earlier.instruction)) return;
      }
    }
    if (pending_.empty() || pending_.back() != earlier) pending_.push_back(earlier);
  }

  bool tell(Node later, Node earlier) {
    auto name = [&](Node node) {
      return who(t_, node.instruction) + (calls_ > 1 ? fmt::format(" of call {}", node.call + 1) : "");
    };
    std::vector<std::string> lines;
    std::vector<Touch> first = touches_of(earlier), second = touches_of(later);
    for (const Touch& x : first) {
      auto meets = [&](const Touch& y) { return x.at == y.at && (x.writes || y.writes); };
      auto y = std::find_if(second.begin(), second.end(), meets);
      if (y == second.end()) continue;
      lines.push_back(fmt::format("{} {}", name(earlier), doing(x)));
      lines.push_back(fmt::format("{} {}, and nothing says which comes first", name(later), doing(*y)));
      if (x.buffer != y->buffer) lines.push_back("the two are the same memory when called in place");
      break;
    }
    if (earlier.call != later.call)
      lines.push_back(
          "nothing keeps ranks from entering the next call at different times: signal that the memory is free");
    return refuse_at(t_, result_, Fault::kRace, later.instruction, std::move(lines));
  }

  // The places of the owner's memory that an instruction touches, as flat indices; `in` under its place of `out`.
  struct Touch {
    uint32_t at;
    bool writes;
    uint16_t buffer;
    uint32_t grid, place;
  };
  std::vector<Touch> touches_of(Node node) const {
    std::vector<Touch> list;
    const Instruction& in = plan_.instructions[node.instruction];
    uint32_t rank = t_.rank_of(node.instruction);
    for (uint32_t o = 0; o < static_cast<uint32_t>(in.source_count) + in.destination_count; ++o) {
      const Operand& operand = plan_.operands[in.first_operand + o];
      if (!touches(operand, rank)) continue;
      for (uint32_t n = 0; n < in.length; ++n) {
        uint32_t place = operand.place + n, at = 0;
        if (operand.buffer == buffers::kIn) {
          uint32_t alias = plan_.inplace ? t_.alias_of_in(owner_, in.grid, place) : kNone;
          if (alias == kNone) continue;
          at = t_.out_index(owner_, in.grid, alias) - t_.out_base[owner_];
        } else {
          at = index(in, operand) + n;
        }
        list.push_back({at, o >= in.source_count, operand.buffer, in.grid, place});
      }
    }
    return list;
  }
  // What an instruction does with a place of the two that both touch: "writes out[3] of rank 2".
  std::string doing(const Touch& r) const {
    return fmt::format("{} {}", r.writes ? "writes" : "reads", place_name(t_, owner_, r.buffer, r.grid, r.place));
  }

  const Tables& t_;
  const Plan& plan_;
  const std::vector<uint32_t>& order_;
  uint32_t calls_;
  VerifyResult& result_;
  std::unique_ptr<HappensBefore> before_;
  std::vector<uint32_t> by_rank_begin_, by_rank_;  // positions in the replay, by rank
  std::vector<uint8_t> awaited_;                   // of each instruction: an `after` names it
  std::vector<Remote> remote_;

  // Of the rank whose memory is judged.
  uint32_t owner_ = 0, lanes_ = 0, first_ = 0, outs_ = 0;
  std::vector<Node> last_write_, last_spoiler_;
  std::vector<uint32_t> readers_, in_readers_;
  std::vector<Reader> pool_;
  std::vector<uint32_t> clocks_;      // lanes_ entries each
  std::vector<uint32_t> clock_of_;    // of each instruction of the rank; kNone: it knows of no other lane
  std::vector<uint32_t> lane_clock_;  // of the last instruction of each lane
  std::vector<uint8_t> lane_shared_;  // somebody waits for an instruction that has the lane's clock
  std::vector<Node> pending_;
};

}  // namespace

bool check_races(const Tables& t, const std::vector<uint32_t>& order, uint32_t calls, VerifyResult& result) {
  return Races(t, order, calls, result).check();
}

}  // namespace coll::verifier
