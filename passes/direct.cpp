// Replaces messages by direct accesses to a peer's memory.
//
// Put: the sender writes into the receiver and signals; the receiver waits for that signal. Before its first put on a
// connection the sender waits for `ready`, which the receiver signals when it enters the call: only then do the
// receiver's buffers exist, and only then has it finished with its scratch of the call before. A put goes straight to
// its destination if the receiver has not touched that memory earlier in this call; else, and for reductions, it lands
// in scratch of its own that nothing else uses, and the receiver takes it from there. Every put is waited for, so no
// peer touches a buffer after its owner has left the call.
//
// Get: the sender signals that its data are there, the receiver fetches (or adds) them and signals `done`. The sender
// waits for `done` before it overwrites the data, and for the last one of every connection before it leaves.
//
// Every counter has one signalling and one waiting lane: the two lanes of its connection.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "passes/steps.h"

namespace coll {

namespace {

constexpr uint32_t kMinor = 8;  // room for inserted actions between two of the program

class Direct {
 public:
  Direct(Draft& draft, LowerOptions::Transfers mode) : draft_(draft), put_(mode == LowerOptions::Transfers::kPut) {}

  void run() {
    number_messages();
    make_counters();
    if (put_) choose_targets();
    std::vector<Action> old = std::move(draft_.actions);
    std::vector<uint32_t> old_begin = draft_.rank_begin;
    draft_.actions.clear();
    for (uint32_t rank = 0; rank < draft_.ranks(); ++rank) {
      size_t begin = draft_.actions.size();
      draft_.rank_begin[rank] = static_cast<uint32_t>(begin);
      std::span<const Action> actions(old.data() + old_begin[rank], old_begin[rank + 1] - old_begin[rank]);
      if (put_) {
        put_rank(actions);
      } else {
        get_rank(rank, actions, old);
      }
      std::stable_sort(draft_.actions.begin() + static_cast<std::ptrdiff_t>(begin), draft_.actions.end(),
                       [](const Action& a, const Action& b) { return a.position < b.position; });
    }
    draft_.rank_begin[draft_.ranks()] = static_cast<uint32_t>(draft_.actions.size());
    draft_.sequence.resize(draft_.actions.size());
    std::iota(draft_.sequence.begin(), draft_.sequence.end(), 0);
    draft_.sequence_begin = draft_.rank_begin;
    draft_.direct = true;
  }

 private:
  struct Target {
    uint16_t buffer = 0;
    uint32_t place = 0;
    bool landing = false;
  };

  // Counter ids of a connection: data (avail) is waited for by the destination, back (ready, done) by the source.
  uint32_t data_counter(uint32_t connection) const { return first_counter_ + 2 * connection; }
  uint32_t back_counter(uint32_t connection) const { return first_counter_ + 2 * connection + 1; }

  void number_messages() {
    number_.assign(draft_.messages.size(), 0);
    std::vector<uint32_t> sent(draft_.connections.size(), 0);
    for (size_t m = 0; m < draft_.messages.size(); ++m) number_[m] = ++sent[draft_.messages[m].connection];
  }

  void make_counters() {
    first_counter_ = static_cast<uint32_t>(draft_.counters.size());
    for (const DraftConnection& c : draft_.connections) {
      const char* data = put_ ? "data" : "avail";
      const char* back = put_ ? "ready" : "done";
      draft_.counters.push_back(
          {c.destination, c.source, fmt::format("{}_{}_{}_{}", data, c.source, c.destination, c.channel)});
      draft_.counters.push_back(
          {c.source, c.destination, fmt::format("{}_{}_{}_{}", back, c.source, c.destination, c.channel)});
    }
  }

  void choose_targets() {
    targets_.resize(draft_.messages.size());
    std::vector<uint8_t> touched;
    for (uint32_t rank = 0; rank < draft_.ranks(); ++rank) {
      Locations locations(draft_, rank, 0);
      touched.assign(locations.count(), 0);
      uint32_t landing = draft_.scratch_places[rank];
      for (uint32_t i = draft_.rank_begin[rank]; i < draft_.rank_begin[rank + 1]; ++i) {
        const Action& a = draft_.actions[i];
        if (a.removed) continue;
        auto each_local = [&](auto f) {
          for (const Operand& o : draft_.all_operands(a)) {
            if (!is_own(o)) continue;
            for (uint32_t p = 0; p < a.length; ++p) f(locations.of(o.buffer, o.place + p));
          }
        };
        if (a.message_in != kNoIndex) {
          bool free = a.op == Opcode::kRecv;
          each_local([&](uint32_t l) { free &= touched[l] == 0; });
          const Operand& to = draft_.destinations(a)[0];
          if (free) {
            targets_[a.message_in] = {to.buffer, to.place, false};
          } else {
            targets_[a.message_in] = {buffers::kScratch, landing, true};
            landing += a.length;
          }
        }
        each_local([&](uint32_t l) { touched[l] = 1; });
      }
      draft_.scratch_places[rank] = landing;
    }
  }

  Action& add(const Action& like, Opcode op, uint32_t lane, uint32_t position) {
    Action a;
    a.op = op;
    a.grid = like.grid;
    a.rank = like.rank;
    a.position = position;
    a.first_part = like.first_part;
    a.length = like.length;
    a.line = like.line;
    a.lane = lane;
    a.first_operand = static_cast<uint32_t>(draft_.operands.size());
    draft_.actions.push_back(a);
    return draft_.actions.back();
  }

  void synchronise(const Action& like, Opcode op, uint32_t lane, uint32_t position, uint32_t counter, uint32_t value) {
    Action& a = add(like, op, lane, position);
    a.counter = counter;
    a.value = op == Opcode::kWait ? value : 0;
  }

  // The operand that a synchronisation stands for, as far as dependences within the rank go.
  void speaks_for(const Operand& o, bool written) {
    Action& a = draft_.actions.back();
    draft_.operands.push_back(o);
    ++(written ? a.destination_count : a.source_count);
  }

  void put_rank(std::span<const Action> actions) {
    std::vector<uint32_t> greeted, asked;
    auto first_time = [](std::vector<uint32_t>& list, uint32_t connection) {
      if (std::find(list.begin(), list.end(), connection) != list.end()) return false;
      list.push_back(connection);
      return true;
    };
    for (const Action& a : actions) {
      if (a.removed || a.message_in == kNoIndex) continue;
      uint32_t c = draft_.messages[a.message_in].connection;
      if (first_time(greeted, c))
        synchronise(a, Opcode::kSignal, draft_.connections[c].receive_lane, 0, back_counter(c), 0);
    }
    for (const Action& a : actions) {
      if (a.removed) continue;
      uint32_t at = (a.position + 1) * kMinor;
      if (a.message_out != kNoIndex) {
        uint32_t c = draft_.messages[a.message_out].connection;
        if (first_time(asked, c)) synchronise(a, Opcode::kWait, a.lane, at, back_counter(c), 1);
        const Target& target = targets_[a.message_out];
        const Operand from = draft_.sources(a)[0];
        Action& put = add(a, Opcode::kPut, a.lane, at + 1);
        put.source_count = put.destination_count = 1;
        draft_.operands.push_back(from);
        draft_.operands.push_back(
            {Space::kPeer, target.buffer, draft_.messages[a.message_out].destination, target.place});
        synchronise(a, Opcode::kSignal, a.lane, at + 2, data_counter(c), 0);
      } else if (a.message_in != kNoIndex) {
        uint32_t c = draft_.messages[a.message_in].connection;
        const Target& target = targets_[a.message_in];
        Operand arrived{Space::kLocal, target.buffer, 0, target.place};
        synchronise(a, Opcode::kWait, a.lane, at, data_counter(c), number_[a.message_in]);
        speaks_for(arrived, true);
        if (target.landing) take(a, a.op == Opcode::kRecv ? Opcode::kCopy : Opcode::kReduce, at + 1, arrived);
      } else {
        Action copy = a;
        copy.position = at;
        draft_.actions.push_back(copy);
      }
    }
  }

  // The receive `a` as an instruction that finds its message in `message`.
  void take(const Action& a, Opcode op, uint32_t position, const Operand& message) {
    std::vector<Operand> operands(draft_.operands.begin() + a.first_operand,
                                  draft_.operands.begin() + a.first_operand + a.source_count + a.destination_count);
    Action& t = add(a, op, a.lane, position);
    t.source_count = a.source_count;
    t.destination_count = a.destination_count;
    for (Operand o : operands) draft_.operands.push_back(o.space == Space::kConnection ? message : o);
  }

  void get_rank(uint32_t rank, std::span<const Action> actions, const std::vector<Action>& all) {
    // From the back: which sends read memory that this rank overwrites later.
    Locations locations(draft_, rank, 0);
    std::vector<uint8_t> written_later(locations.count(), 0), must_wait(actions.size(), 0);
    for (size_t i = actions.size(); i-- > 0;) {
      const Action& a = actions[i];
      if (a.removed) continue;
      if (a.message_out != kNoIndex) {
        const Operand& from = draft_.sources(a)[0];
        for (uint32_t p = 0; p < a.length; ++p)
          must_wait[i] |= written_later[locations.of(from.buffer, from.place + p)];
      }
      for (const Operand& o : draft_.destinations(a)) {
        if (!is_own(o)) continue;
        for (uint32_t p = 0; p < a.length; ++p) written_later[locations.of(o.buffer, o.place + p)] = 1;
      }
    }
    std::vector<std::pair<uint32_t, size_t>> last_of_connection;  // connection, its last send that nobody waited for
    for (size_t i = 0; i < actions.size(); ++i) {
      const Action& a = actions[i];
      if (a.removed) continue;
      uint32_t at = (a.position + 1) * kMinor;
      if (a.message_out != kNoIndex) {
        const Message& m = draft_.messages[a.message_out];
        const Operand from = draft_.sources(a)[0];
        synchronise(a, Opcode::kSignal, a.lane, at, data_counter(m.connection), 0);
        speaks_for(from, false);
        if (must_wait[i]) {
          uint32_t receive_at = (all[m.receive_action].position + 1) * kMinor;
          synchronise(a, Opcode::kWait, a.lane, receive_at + 5, back_counter(m.connection), number_[a.message_out]);
          speaks_for(from, false);
        }
        auto it = std::find_if(last_of_connection.begin(), last_of_connection.end(),
                               [&](const auto& e) { return e.first == m.connection; });
        if (it == last_of_connection.end()) {
          last_of_connection.emplace_back(m.connection, i);
        } else {
          it->second = i;
        }
      } else if (a.message_in != kNoIndex) {
        const Message& m = draft_.messages[a.message_in];
        const Operand from = draft_.sources(all[m.send_action])[0];
        synchronise(a, Opcode::kWait, a.lane, at, data_counter(m.connection), number_[a.message_in]);
        take(a, a.op == Opcode::kRecv ? Opcode::kGet : Opcode::kGetReduce, at + 1,
             {Space::kPeer, from.buffer, m.source, from.place});
        synchronise(a, Opcode::kSignal, a.lane, at + 2, back_counter(m.connection), 0);
      } else {
        Action copy = a;
        copy.position = at;
        draft_.actions.push_back(copy);
      }
    }
    for (const auto& [connection, i] : last_of_connection) {
      if (must_wait[i]) continue;
      const Action& a = actions[i];
      synchronise(a, Opcode::kWait, a.lane, kNoIndex - 1, back_counter(connection), number_[a.message_out]);
    }
  }

  Draft& draft_;
  bool put_;
  uint32_t first_counter_ = 0;
  std::vector<uint32_t> number_;  // of each message: 1, 2, ... on its connection
  std::vector<Target> targets_;   // of each message, put only
};

}  // namespace

void make_direct(Draft& draft, LowerOptions::Transfers mode) { Direct(draft, mode).run(); }

}  // namespace coll
