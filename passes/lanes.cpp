// Gives every action of a rank a lane, and fuses.
//
// A lane has at most one connection to receive from and one to send on. At each rank receiving and sending connections
// are matched by the load that can be forwarded from one to the other, heaviest first; a matched pair is a lane. What
// is left over shares a lane only if that costs no pipelining: a lane runs in program order, so a send that stands
// behind a receive waits for it. A pair whose merged order goes from receive to send at most twice (an exchange, two
// phases) is merged; a tree's leaf that sends piece 1 up after piece 0 came down, sixteen times over, is not.
//
// Fusion: a send that forwards exactly what a receive (or reduction) of its lane wrote is done by that instruction. The
// send moves up to the receive; sends of the same connection that stand between move up before it, if their data are
// there (in a ring a rank receives before it sends its own chunk, or after, as the loop over ranks happens to run): the
// order of messages on a connection never changes. What nobody else reads is not stored.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/diagnostics.h"
#include "passes/steps.h"

namespace coll {

namespace {

constexpr uint32_t kMostSwitches = 2;  // receive -> send, in the merged order of a lane

class LanesOfRank {
 public:
  LanesOfRank(Draft& draft, const Flow& flow, const LowerOptions& options, uint32_t rank, size_t forward_begin,
              size_t forward_end, std::vector<uint32_t>& slot_of_connection)
      : draft_(draft), flow_(flow), options_(options), rank_(rank), slot_of_(slot_of_connection) {
    forward_begin_ = forward_begin;
    forward_end_ = forward_end;
    begin_ = draft.rank_begin[rank];
    end_ = draft.rank_begin[rank + 1];
  }

  void run(Diagnostics& diagnostics) {
    list_connections();
    match_streams();
    merge_rest();
    number_lanes(diagnostics);
    open_switch_lanes();
    place_actions(diagnostics);
    for (uint32_t i = begin_; i < end_; ++i) draft_.actions[i].at = draft_.actions[i].position;
    if (options_.fuse) fuse();
    order_actions();
  }

 private:
  struct End {
    uint32_t connection = 0;
    uint64_t load = 0;
    uint32_t partner = kNoIndex;  // index into the other list
    uint32_t lane = kNoIndex;
  };
  struct Pair {
    uint32_t receive = 0, send = 0;  // indices into receives_ / sends_
    uint64_t load = 0;
  };

  uint32_t connection_in(const Action& a) const { return draft_.messages[a.message_in].connection; }
  uint32_t connection_out(const Action& a) const { return draft_.messages[a.message_out].connection; }

  void list_connections() {
    for (uint32_t i = begin_; i < end_; ++i) {
      const Action& a = draft_.actions[i];
      if (a.removed) continue;
      if (a.message_in != kNoIndex) note(receives_, connection_in(a), a.length);
      if (a.message_out != kNoIndex) note(sends_, connection_out(a), a.length);
    }
  }

  // slot_of_ maps a connection to its index here; a connection is seen from one end only at one rank.
  void note(std::vector<End>& list, uint32_t connection, uint32_t length) {
    uint32_t& slot = slot_of_[connection];
    if (slot >= list.size() || list[slot].connection != connection) {
      slot = static_cast<uint32_t>(list.size());
      End end;
      end.connection = connection;
      list.push_back(end);
    }
    list[slot].load += length;
  }

  void match_streams() {
    std::vector<Pair> pairs;
    for (size_t i = forward_begin_; i < forward_end_; ++i) {
      const Action& from = draft_.actions[flow_.forwards[i].first];
      const Action& send = draft_.actions[flow_.forwards[i].second];
      if (from.message_in == kNoIndex || send.removed) continue;
      pairs.push_back({slot_of_[connection_in(from)], slot_of_[connection_out(send)], send.length});
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& a, const Pair& b) { return std::pair(a.receive, a.send) < std::pair(b.receive, b.send); });
    size_t kept = 0;
    for (const Pair& p : pairs) {
      if (kept > 0 && pairs[kept - 1].receive == p.receive && pairs[kept - 1].send == p.send) {
        pairs[kept - 1].load += p.load;
      } else {
        pairs[kept++] = p;
      }
    }
    pairs.resize(kept);
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.load > b.load; });
    for (const Pair& p : pairs) join(p.receive, p.send);
  }

  bool hints_agree(const End& receive, const End& send) const {
    return draft_.connections[receive.connection].lane_hint == draft_.connections[send.connection].lane_hint;
  }

  void join(uint32_t receive, uint32_t send) {
    if (receives_[receive].partner != kNoIndex || sends_[send].partner != kNoIndex) return;
    if (!hints_agree(receives_[receive], sends_[send])) return;
    receives_[receive].partner = send;
    sends_[send].partner = receive;
  }

  // Positions of the actions of each connection that is still alone, in program order.
  void merge_rest() {
    std::vector<std::vector<uint32_t>> receive_at(receives_.size()), send_at(sends_.size());
    bool any = false;
    for (const End& e : receives_) any |= e.partner == kNoIndex;
    if (!any) return;
    for (uint32_t i = begin_; i < end_; ++i) {
      const Action& a = draft_.actions[i];
      if (a.removed) continue;
      if (a.message_in != kNoIndex) {
        uint32_t slot = slot_of_[connection_in(a)];
        if (receives_[slot].partner == kNoIndex) receive_at[slot].push_back(a.position);
      }
      if (a.message_out != kNoIndex) {
        uint32_t slot = slot_of_[connection_out(a)];
        if (sends_[slot].partner == kNoIndex) send_at[slot].push_back(a.position);
      }
    }
    auto cheap = [&](uint32_t r, uint32_t s) {
      const std::vector<uint32_t>&in = receive_at[r], &out = send_at[s];
      uint32_t switches = 0;
      bool after_receive = false;
      for (size_t i = 0, j = 0; i < in.size() || j < out.size();) {
        bool receive_next = j == out.size() || (i < in.size() && in[i] < out[j]);
        if (!receive_next && after_receive && ++switches > kMostSwitches) return false;
        after_receive = receive_next;
        ++(receive_next ? i : j);
      }
      return true;
    };
    // The same peer first (an exchange), then heavy with light.
    std::vector<std::pair<uint32_t, uint32_t>> by_peer;  // (peer, send)
    for (uint32_t s = 0; s < sends_.size(); ++s)
      if (sends_[s].partner == kNoIndex) by_peer.emplace_back(draft_.connections[sends_[s].connection].destination, s);
    std::sort(by_peer.begin(), by_peer.end());
    for (uint32_t r = 0; r < receives_.size(); ++r) {
      if (receives_[r].partner != kNoIndex) continue;
      uint32_t peer = draft_.connections[receives_[r].connection].source;
      for (auto it = std::lower_bound(by_peer.begin(), by_peer.end(), std::pair(peer, 0u));
           it != by_peer.end() && it->first == peer && receives_[r].partner == kNoIndex; ++it) {
        if (sends_[it->second].partner == kNoIndex && cheap(r, it->second)) join(r, it->second);
      }
    }
    std::vector<uint32_t> heavy, light;
    for (uint32_t r = 0; r < receives_.size(); ++r)
      if (receives_[r].partner == kNoIndex) heavy.push_back(r);
    for (uint32_t s = 0; s < sends_.size(); ++s)
      if (sends_[s].partner == kNoIndex) light.push_back(s);
    std::stable_sort(heavy.begin(), heavy.end(),
                     [&](uint32_t a, uint32_t b) { return receives_[a].load > receives_[b].load; });
    std::stable_sort(light.begin(), light.end(),
                     [&](uint32_t a, uint32_t b) { return sends_[a].load < sends_[b].load; });
    for (uint32_t r : heavy) {
      for (uint32_t s : light) {
        if (sends_[s].partner != kNoIndex || !cheap(r, s)) continue;
        join(r, s);
        if (receives_[r].partner != kNoIndex) break;
      }
    }
  }

  // Lanes in the order of their first action; lanes with a hint take the number they ask for.
  void number_lanes(Diagnostics& diagnostics) {
    struct Group {
      uint32_t receive = kNoIndex, send = kNoIndex;
      int32_t hint = -1;
    };
    std::vector<Group> groups;
    std::vector<uint32_t> group_of_receive(receives_.size(), kNoIndex), group_of_send(sends_.size(), kNoIndex);
    auto open_group = [&](uint32_t receive, uint32_t send) {
      Group g{receive, send, -1};
      if (receive != kNoIndex) {
        group_of_receive[receive] = static_cast<uint32_t>(groups.size());
        g.hint = draft_.connections[receives_[receive].connection].lane_hint;
      }
      if (send != kNoIndex) {
        group_of_send[send] = static_cast<uint32_t>(groups.size());
        g.hint = draft_.connections[sends_[send].connection].lane_hint;
      }
      groups.push_back(g);
    };
    for (uint32_t i = begin_; i < end_; ++i) {
      const Action& a = draft_.actions[i];
      if (a.removed) continue;
      if (a.message_in != kNoIndex) {
        uint32_t r = slot_of_[connection_in(a)];
        if (group_of_receive[r] == kNoIndex) open_group(r, receives_[r].partner);
      }
      if (a.message_out != kNoIndex) {
        uint32_t s = slot_of_[connection_out(a)];
        if (group_of_send[s] == kNoIndex) open_group(sends_[s].partner, s);
      }
    }
    lane_count_ = static_cast<uint32_t>(groups.size());
    std::vector<uint32_t> lane_of(groups.size(), kNoIndex);
    std::vector<uint8_t> taken(groups.size(), 0);
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].hint < 0) continue;
      uint32_t wanted = static_cast<uint32_t>(groups[g].hint);
      if (wanted >= groups.size() || taken[wanted]) {
        report_lane_hint(
            diagnostics,
            groups[g].receive != kNoIndex ? receives_[groups[g].receive].connection : sends_[groups[g].send].connection,
            wanted, wanted < groups.size());
        wanted = 0;
        while (taken[wanted]) ++wanted;
      }
      lane_of[g] = wanted;
      taken[wanted] = 1;
    }
    uint32_t free = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (lane_of[g] != kNoIndex) continue;
      while (taken[free]) ++free;
      lane_of[g] = free;
      taken[free] = 1;
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].receive != kNoIndex) receives_[groups[g].receive].lane = lane_of[g];
      if (groups[g].send != kNoIndex) sends_[groups[g].send].lane = lane_of[g];
    }
    for (const End& e : receives_) draft_.connections[e.connection].receive_lane = e.lane;
    for (const End& e : sends_) draft_.connections[e.connection].send_lane = e.lane;
  }

  void report_lane_hint(Diagnostics& diagnostics, uint32_t connection, uint32_t wanted, bool twice) {
    std::string why =
        twice ? fmt::format("rank {} would need one lane {} for more than one peer to send to or to receive from",
                            rank_, wanted)
              : fmt::format("rank {} has {} lanes here, so there is no lane {}", rank_, lane_count_, wanted);
    diagnostics.error(diag::kLaneHint, range_of_connection(draft_, connection),
                      "`on lane " + std::to_string(wanted) + "` cannot be honoured: " + why,
                      "leave the hint out; lanes are assigned by load");
  }

  // Operations in the switch have a lane for each rank that starts them: counters have one lane at either end.
  void open_switch_lanes() {
    for (uint32_t i = begin_; i < end_; ++i) {
      Action& a = draft_.actions[i];
      if (a.switch_owner == kNoIndex) continue;
      auto [it, fresh] = switch_lanes_.try_emplace(a.switch_owner, lane_count_);
      if (fresh) ++lane_count_;
      a.lane = it->second;
    }
  }

  // The lane that a statement within the rank asks for.
  uint32_t local_lane_hint(const Action& a, Diagnostics& diagnostics) {
    uint32_t wanted = static_cast<uint32_t>(draft_.schedule->hints[a.hint].lane);
    if (lane_count_ == 0) lane_count_ = 1;
    if (wanted < lane_count_) return wanted;
    diagnostics.error(diag::kLaneHint, range_of_line(*draft_.schedule, a.line),
                      fmt::format("`on lane {}` cannot be honoured: rank {} has no more than {} here", wanted, rank_,
                                  lane_count_ == 1 ? std::string("1 lane") : fmt::format("{} lanes", lane_count_)),
                      "leave the hint out; lanes are assigned by load");
    return 0;
  }

  // Transfers run where their connection is; local work runs where its data arrive, else where its result is used.
  void place_actions(Diagnostics& diagnostics) {
    std::vector<uint64_t> load(std::max<uint32_t>(1, lane_count_), 0);
    Locations locations(draft_, rank_, 0);
    std::vector<uint32_t> writer(locations.count(), kNoIndex);
    std::vector<uint32_t> waiting;  // local actions that read only inputs
    for (uint32_t i = begin_; i < end_; ++i) {
      Action& a = draft_.actions[i];
      if (a.removed) continue;
      uint32_t latest = kNoIndex;
      for (const Operand& source : draft_.sources(a)) {
        if (!is_own(source)) continue;
        for (uint32_t p = 0; p < a.length; ++p) {
          uint32_t w = writer[locations.of(source.buffer, source.place + p)];
          if (w == kNoIndex) continue;
          if (draft_.actions[w].lane == kNoIndex && a.lane == kNoIndex && a.message_in == kNoIndex &&
              a.message_out == kNoIndex)
            continue;
          if (latest == kNoIndex || w > latest) latest = w;
        }
      }
      if (a.switch_owner != kNoIndex) {
        // has its lane
      } else if (a.message_in != kNoIndex) {
        a.lane = receives_[slot_of_[connection_in(a)]].lane;
      } else if (a.message_out != kNoIndex) {
        a.lane = sends_[slot_of_[connection_out(a)]].lane;
      } else if (draft_.schedule->hints[a.hint].lane >= 0) {
        a.lane = local_lane_hint(a, diagnostics);
      } else if (latest != kNoIndex) {
        a.lane = draft_.actions[latest].lane;
      } else {
        a.lane = kNoIndex;
        waiting.push_back(i);
      }
      if (a.lane != kNoIndex) {
        load[a.lane] += a.length;
        // A local writer of its operands that had no data to follow goes along with its first reader.
        for (const Operand& source : draft_.sources(a)) {
          if (!is_own(source)) continue;
          for (uint32_t p = 0; p < a.length; ++p) {
            uint32_t w = writer[locations.of(source.buffer, source.place + p)];
            if (w == kNoIndex || draft_.actions[w].lane != kNoIndex) continue;
            draft_.actions[w].lane = a.lane;
            load[a.lane] += draft_.actions[w].length;
          }
        }
      }
      for (const Operand& to : draft_.destinations(a)) {
        if (!is_own(to)) continue;
        for (uint32_t p = 0; p < a.length; ++p) writer[locations.of(to.buffer, to.place + p)] = i;
      }
    }
    for (uint32_t i : waiting) {
      Action& a = draft_.actions[i];
      if (a.lane != kNoIndex) continue;
      if (lane_count_ == 0) lane_count_ = 1;
      a.lane = static_cast<uint32_t>(std::min_element(load.begin(), load.end()) - load.begin());
      load[a.lane] += a.length;
    }
    draft_.lane_count[rank_] = lane_count_;
  }

  void fuse() {
    std::vector<std::vector<uint32_t>> sent(sends_.size());  // sends of each connection so far, in message order
    uint32_t hoisted = 0;
    size_t next = forward_begin_;
    for (uint32_t i = begin_; i < end_; ++i) {
      Action& send = draft_.actions[i];
      if (send.removed || send.op != Opcode::kSend) continue;
      std::vector<uint32_t>& before = sent[slot_of_[connection_out(send)]];
      while (next < forward_end_ && flow_.forwards[next].second < i) ++next;
      if (next < forward_end_ && flow_.forwards[next].second == i) {
        uint32_t w = flow_.forwards[next].first;
        Action& writer = draft_.actions[w];
        bool can = !writer.removed && writer.may_fuse && writer.fused_send == kNoIndex && writer.lane == send.lane &&
                   writer.hint == send.hint && hoist(before, writer, hoisted);
        if (can) {
          writer.fused_send = i;
          writer.message_out = send.message_out;
          draft_.messages[send.message_out].send_action = w;
          writer.store = flow_.uses[w] > 1 || flow_.live_out[w] != 0;
          send.removed = true;
        }
      }
      before.push_back(i);
    }
  }

  // Makes room for a send at `writer`: the sends of the connection that stand after it move up before it. False, and
  // nothing moved, if one of them cannot: it is fused, or its data are not there yet.
  bool hoist(const std::vector<uint32_t>& sent, const Action& writer, uint32_t& hoisted) {
    constexpr size_t kFarthest = 64;
    size_t first = sent.size();
    while (first > 0) {
      const Action& s = draft_.actions[sent[first - 1]];
      if (!s.removed && s.at < writer.position) break;
      if (!s.removed && s.at == writer.position) break;  // moved before this writer already
      bool fused_earlier = s.removed && fused_position(sent[first - 1]) < writer.position;
      if (fused_earlier) break;
      if (s.removed || flow_.ready[sent[first - 1]] > writer.position || sent.size() - first >= kFarthest) return false;
      --first;
    }
    for (size_t i = first; i < sent.size(); ++i) {
      Action& s = draft_.actions[sent[i]];
      s.at = writer.position;
      s.before = ++hoisted;
    }
    return true;
  }

  // Position of the action that a removed send was fused into.
  uint32_t fused_position(uint32_t send) const {
    return draft_.actions[draft_.messages[draft_.actions[send].message_out].send_action].position;
  }

  void order_actions() {
    draft_.sequence_begin[rank_] = static_cast<uint32_t>(draft_.sequence.size());
    bool moved = false;
    for (uint32_t i = begin_; i < end_; ++i) {
      if (draft_.actions[i].removed) continue;
      draft_.sequence.push_back(i);
      moved |= draft_.actions[i].before != 0;
    }
    if (!moved) return;
    auto key = [&](uint32_t i) {
      const Action& a = draft_.actions[i];
      return std::pair(a.at, a.before == 0 ? kNoIndex : a.before);
    };
    std::sort(draft_.sequence.begin() + draft_.sequence_begin[rank_], draft_.sequence.end(),
              [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  }

  Draft& draft_;
  const Flow& flow_;
  const LowerOptions& options_;
  uint32_t rank_, begin_, end_;
  size_t forward_begin_, forward_end_;
  std::vector<uint32_t>& slot_of_;
  std::vector<End> receives_, sends_;
  uint32_t lane_count_ = 0;
  std::map<uint32_t, uint32_t> switch_lanes_;  // owner -> lane
};

}  // namespace

void assign_lanes(Draft& draft, const Flow& flow, const LowerOptions& options, Diagnostics& diagnostics) {
  draft.lane_count.assign(draft.ranks(), 0);
  std::vector<uint32_t> slot_of_connection(draft.connections.size(), kNoIndex);
  draft.sequence.clear();
  draft.sequence.reserve(draft.actions.size());
  draft.sequence_begin.assign(draft.ranks() + 1, 0);
  size_t forward = 0;
  for (uint32_t rank = 0; rank < draft.ranks(); ++rank) {
    size_t begin = forward;
    draft.sequence_begin[rank] = static_cast<uint32_t>(draft.sequence.size());
    while (forward < flow.forwards.size() && draft.actions[flow.forwards[forward].second].rank == rank) ++forward;
    if (draft.rank_begin[rank] == draft.rank_begin[rank + 1]) continue;
    LanesOfRank(draft, flow, options, rank, begin, forward, slot_of_connection).run(diagnostics);
  }
  draft.sequence_begin[draft.ranks()] = static_cast<uint32_t>(draft.sequence.size());
}

}  // namespace coll
