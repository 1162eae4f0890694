// Gives every message a connection: an ordered pair of ranks and a channel.
//
// One channel a pair is the rule; hints make others. A lane has one peer to send to and one to receive from, so at each
// rank one stream "from p, on to q" can be fused for each p and q. Colouring every stream (p -> rank -> q) with its own
// channel, as others do, makes tens of channels for a hierarchical algorithm, most of them idle. Here streams are
// weighed: a rank first matches its heaviest streams, and a stream that is left over gets a channel of its own only if
// it carries at least a quarter of the heaviest one. (2 nodes x 8 hierarchical all-reduce: one channel, two lanes a
// rank, against 24 and 26.)
//
// Without `by_load` the channel of a message depends on nothing but its own pair's statements, so that one rank's part
// can be compiled alone.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "passes/diagnostics.h"
#include "passes/steps.h"

namespace coll {

namespace {

struct Stream {
  uint32_t from = 0, to = 0;  // peers
  uint64_t load = 0;          // places
};

// The streams through a rank, heaviest first. What is forwarded to several peers counts for the first of them only: no
// more than one send can be fused with its receive.
std::vector<Stream> streams_of(const Draft& draft, const std::vector<std::pair<uint32_t, uint32_t>>& forwards,
                               size_t begin, size_t end) {
  std::vector<Stream> streams;
  std::vector<std::pair<uint32_t, uint32_t>> first(forwards.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   forwards.begin() + static_cast<std::ptrdiff_t>(end));
  std::sort(first.begin(), first.end());
  for (size_t i = 0; i < first.size(); ++i) {
    if (i > 0 && first[i].first == first[i - 1].first) continue;
    const Action& receive = draft.actions[first[i].first];
    const Action& send = draft.actions[first[i].second];
    if (receive.message_in == kNoIndex) continue;
    streams.push_back({draft.messages[receive.message_in].source, draft.messages[send.message_out].destination,
                       draft.messages[send.message_out].length});
  }
  std::sort(streams.begin(), streams.end(),
            [](const Stream& a, const Stream& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  size_t kept = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (kept > 0 && streams[kept - 1].from == streams[i].from && streams[kept - 1].to == streams[i].to) {
      streams[kept - 1].load += streams[i].load;
    } else {
      streams[kept++] = streams[i];
    }
  }
  streams.resize(kept);
  std::stable_sort(streams.begin(), streams.end(), [](const Stream& a, const Stream& b) { return a.load > b.load; });
  return streams;
}

// Streams that deserve channels of their own: messages of theirs get the next hop (at the receiver) and the hop before
// (at the sender) as a class; 0 is the common class.
struct Classes {
  std::vector<uint32_t> at_sender, at_receiver;  // by message; empty when there are none
};

Classes split_streams(const Draft& draft, const Flow& flow, bool every_stream) {
  Classes classes;
  size_t begin = 0;
  while (begin < flow.forwards.size()) {
    uint32_t rank = draft.actions[flow.forwards[begin].second].rank;
    size_t end = begin;
    while (end < flow.forwards.size() && draft.actions[flow.forwards[end].second].rank == rank) ++end;
    std::vector<Stream> streams = streams_of(draft, flow.forwards, begin, end);
    std::vector<std::pair<uint32_t, uint32_t>> own_channel;
    std::vector<uint32_t> used_from, used_to;
    auto contains = [](const std::vector<uint32_t>& v, uint32_t x) {
      return std::find(v.begin(), v.end(), x) != v.end();
    };
    for (const Stream& s : streams) {
      bool matched = !every_stream && !contains(used_from, s.from) && !contains(used_to, s.to);
      if (matched) {
        used_from.push_back(s.from);
        used_to.push_back(s.to);
      } else if (every_stream || s.load * 4 >= streams[0].load) {
        own_channel.emplace_back(s.from, s.to);
      }
    }
    if (!own_channel.empty()) {
      std::sort(own_channel.begin(), own_channel.end());
      if (classes.at_sender.empty()) {
        classes.at_sender.assign(draft.messages.size(), 0);
        classes.at_receiver.assign(draft.messages.size(), 0);
      }
      for (size_t i = begin; i < end; ++i) {
        uint32_t in = draft.actions[flow.forwards[i].first].message_in;
        uint32_t out = draft.actions[flow.forwards[i].second].message_out;
        if (in == kNoIndex) continue;
        uint32_t from = draft.messages[in].source, to = draft.messages[out].destination;
        if (!std::binary_search(own_channel.begin(), own_channel.end(), std::pair(from, to))) continue;
        if (classes.at_receiver[in] != 0) continue;  // a message forwarded twice belongs to its first stream
        classes.at_receiver[in] = to + 1;
        classes.at_sender[out] = from + 1;
      }
    }
    begin = end;
  }
  return classes;
}

void report_channel_hint(const Draft& draft, uint32_t connection, uint32_t channel, Diagnostics& diagnostics) {
  const DraftConnection& c = draft.connections[connection];
  diagnostics.error(
      diag::kChannelHint, range_of_connection(draft, connection),
      fmt::format("`on channel {0}` cannot be honoured: from rank {1} to rank {2}, channel {0} is asked for "
                  "with another lane or protocol already",
                  channel, c.source, c.destination),
      "a channel has one lane at either end and one protocol");
}

}  // namespace

void assign_channels(Draft& draft, const Flow& flow, const LowerOptions& options, bool by_load,
                     Diagnostics& diagnostics) {
  Classes classes;
  if (options.channel_per_flow || by_load) classes = split_streams(draft, flow, options.channel_per_flow);

  // Connections of a pair are few: a chain through `next`.
  struct Key {
    uint32_t at_sender, at_receiver;
    uint16_t hint;
  };
  std::unordered_map<uint64_t, uint32_t> first_of_pair;
  std::vector<uint32_t> next;
  std::vector<Key> keys;
  const std::vector<Hint>& hints = draft.schedule->hints;
  auto same_hint = [&](uint16_t a, uint16_t b) {
    return a == b || (hints[a].channel == hints[b].channel && hints[a].lane == hints[b].lane &&
                      hints[a].protocol == hints[b].protocol);
  };
  draft.connections.clear();
  for (uint32_t m = 0; m < draft.messages.size(); ++m) {
    Message& message = draft.messages[m];
    Key key{0, 0, message.hint};
    if (!classes.at_sender.empty()) {
      if (hints[message.hint].channel < 0) {
        key.at_sender = classes.at_sender[m];
        key.at_receiver = classes.at_receiver[m];
      }
    }
    uint64_t pair = static_cast<uint64_t>(message.source) * draft.ranks() + message.destination;
    auto [it, fresh] = first_of_pair.try_emplace(pair, static_cast<uint32_t>(draft.connections.size()));
    uint32_t connection = it->second, last = kNoIndex;
    if (!fresh) {
      while (connection != kNoIndex) {
        const Key& k = keys[connection];
        if (k.at_sender == key.at_sender && k.at_receiver == key.at_receiver && same_hint(k.hint, key.hint)) break;
        last = connection;
        connection = next[connection];
      }
    } else {
      connection = kNoIndex;
    }
    if (connection == kNoIndex) {
      connection = static_cast<uint32_t>(draft.connections.size());
      if (last != kNoIndex) next[last] = connection;
      const Hint& hint = hints[message.hint];
      DraftConnection c;
      c.source = message.source;
      c.destination = message.destination;
      c.lane_hint = hint.lane;
      if (!hint.protocol.empty()) c.protocol = hint.protocol;
      c.channel = hint.channel >= 0 ? static_cast<uint32_t>(hint.channel) : kNoIndex;
      draft.connections.push_back(c);
      next.push_back(kNoIndex);
      keys.push_back(key);
    }
    message.connection = connection;
    draft.connections[connection].load += message.length;
  }

  // Number the channels of each pair: hinted ones have theirs (two that ask for the same number with different lanes or
  // protocols cannot both), the others take the lowest free.
  for (uint32_t first = 0; first < draft.connections.size(); ++first) {
    const DraftConnection& head = draft.connections[first];
    uint64_t pair = static_cast<uint64_t>(head.source) * draft.ranks() + head.destination;
    if (first_of_pair[pair] != first) continue;
    std::vector<uint32_t> taken;
    auto is_taken = [&](uint32_t channel) { return std::find(taken.begin(), taken.end(), channel) != taken.end(); };
    for (bool hinted : {true, false}) {
      for (uint32_t c = first; c != kNoIndex; c = next[c]) {
        DraftConnection& connection = draft.connections[c];
        bool has = hints[keys[c].hint].channel >= 0;
        if (has != hinted) continue;
        uint32_t channel = hinted ? static_cast<uint32_t>(hints[keys[c].hint].channel) : 0;
        if (hinted && is_taken(channel)) report_channel_hint(draft, c, channel, diagnostics);
        while (is_taken(channel)) ++channel;
        connection.channel = channel;
        taken.push_back(channel);
      }
    }
  }
}

}  // namespace coll
