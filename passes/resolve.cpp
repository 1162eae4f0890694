// Pass 1: from statements over all ranks' memory to each rank's own actions.
//
// - Places become spots in `in`, `out` or scratch (buffer_map.h).
// - A statement between ranks becomes messages (a send here, a receive there); one within a rank a copy or reduction.
//   A reduction with several remote sources is folded one source at a time, in the listed order, so that every rank
//   that folds the same list builds the same expression.
// - A range that is read while part of it still lies in `in` is first completed where it is written: the message stays
//   whole, and its pieces are the same whichever end is compiled. (The copy is one onto itself in place.)
// - Output places that the contract wants to be the rank's own input, and that no statement wrote, are copied at the
//   end.
//
// Everything about a rank is decided from the statements that touch it, in their order; so one rank's part can be
// compiled alone.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/support/check.h"
#include "passes/buffer_map.h"
#include "passes/diagnostics.h"
#include "passes/steps.h"

namespace coll {

namespace {

// Place::buffer of a source that was copied to scratch: Place::place is its first scratch place.
constexpr uint16_t kAside = 0xffff;

class Resolver {
 public:
  Resolver(const Schedule& schedule, bool in_switch, Diagnostics& diagnostics, Draft& draft)
      : s_(schedule),
        c_(schedule.contract),
        in_switch_(in_switch),
        diagnostics_(diagnostics),
        draft_(draft),
        map_(schedule) {}

  void run();

 private:
  bool compiled(uint32_t rank) const { return map_.compiled(rank); }
  void statement(const ScheduleOp& op);
  void statement_on(const ScheduleOp& op, uint32_t destination_rank, bool stage_sources);
  // Appends the statement's sources with `all` written out.
  void list_sources(const ScheduleOp& op, uint32_t destination_rank);
  bool overlaps_itself(uint32_t rank, const Place& destination, const Place& source, uint32_t length) const;

  Spot read(const ScheduleOp& op, const Place& place, uint32_t part, uint32_t from, uint32_t length);
  void report_unwritten(const ScheduleOp& op, const Place& place, uint32_t i);
  void mark_written(const Place& place, uint32_t length) {
    for (uint32_t i = 0; i < length; ++i) map_.mark_written(place, i);
  }
  uint32_t part_of(const Place& place) const;
  void find_parts(const ScheduleOp& op, uint32_t from, uint32_t length);
  void run_of(const ScheduleOp& op, uint32_t destination_rank, uint32_t from, uint32_t length);
  void copy(const ScheduleOp& op, uint32_t rank, Spot from, Spot to);
  bool switch_statement(const ScheduleOp& op);
  void synchronise(const ScheduleOp& op, Opcode code, uint32_t rank, uint32_t owner, uint32_t counter, uint32_t value);
  void complete_outputs();

  uint32_t operand(Operand o) {
    draft_.operands.push_back(o);
    return static_cast<uint32_t>(draft_.operands.size() - 1);
  }
  Operand local(Spot spot) const { return {Space::kLocal, spot.buffer, 0, spot.place}; }
  Action& action(const ScheduleOp& op, Opcode code, uint32_t rank, uint32_t length);
  uint32_t send(const ScheduleOp& op, uint32_t from_rank, Spot spot, uint32_t to_rank, uint32_t length);
  SourceRange range(const ScheduleOp& op) const { return range_of_line(s_, op.line); }
  uint32_t parts() const { return s_.grids[0].parts; }

  const Schedule& s_;
  const Contract& c_;
  bool in_switch_;
  Diagnostics& diagnostics_;
  Draft& draft_;
  BufferMap map_;
  uint32_t position_ = 0;
  uint32_t first_part_ = 0;
  std::set<uint32_t> reported_lines_;
  std::vector<uint32_t> switch_counters_, switch_turns_;  // by (owner, rank): first counter, operations so far

  std::vector<Place> source_places_;       // of the statement at hand, `all` written out
  std::vector<uint32_t> source_parts_;     // of each source at place 0, see part_of
  std::vector<Spot> source_spots_;         // of the run at hand
  std::vector<uint32_t> source_messages_;  // message of each source, or kNoIndex when it is local
};

// The spot that places [from, from + length) of an operand are read from: all in `in` if none has been written, else
// all where they are written; what is still in `in` then is copied there first. Reports a read of what nobody wrote.
// `part` is the part of the operand's place 0.
Spot Resolver::read(const ScheduleOp& op, const Place& place, uint32_t part, uint32_t from, uint32_t length) {
  if (place.buffer == buffers::kIn) {
    for (uint32_t i = from; i < from + length; ++i)
      if (map_.input_gone_in_place(place, i)) draft_.inplace = false;
    return {buffers::kIn, place.place + from};
  }
  uint32_t written = 0;
  for (uint32_t i = from; i < from + length; ++i) written += map_.written(place, i);
  Spot target = map_.write_spot(place, from);
  if (written == length) return target;
  Spot input, ignored;
  bool all_have_input = map_.input_spot(place, from, input) && map_.input_spot(place, from + length - 1, ignored);
  if (written == 0 && all_have_input) return input;
  for (uint32_t i = from; i < from + length; ++i) {
    if (map_.written(place, i)) continue;
    if (!map_.input_spot(place, i, input)) {
      report_unwritten(op, place, i);
      return target;
    }
    uint32_t run = 1;
    while (i + run < from + length && !map_.written(place, i + run) && map_.input_spot(place, i + run, ignored)) ++run;
    first_part_ = (part + i) % parts();
    Action& a = action(op, Opcode::kCopy, place.rank, run);
    a.source_count = a.destination_count = 1;
    operand(local(input));
    operand(local(map_.write_spot(place, i)));
    for (uint32_t j = 0; j < run; ++j) map_.mark_written(place, i + j);
  }
  return target;
}

void Resolver::report_unwritten(const ScheduleOp& op, const Place& place, uint32_t i) {
  if (!reported_lines_.insert(op.line).second) return;
  diagnostics_.error(
      diag::kReadUnwritten, range(op),
      fmt::format("rank {} reads `{}[{}][{}]`, which no statement before has written", place.rank,
                  s_.buffer_name(place.buffer), place.rank, place.place + i),
      place.buffer == buffers::kBuf
          ? fmt::format("`{}` gives this rank no input there; every other place must be written first", c_.name)
          : "statements run in the order in which they are written");
}

Action& Resolver::action(const ScheduleOp& op, Opcode code, uint32_t rank, uint32_t length) {
  Action a;
  a.op = code;
  a.grid = op.grid;
  a.hint = op.hint;
  a.rank = rank;
  a.position = position_++;
  a.first_part = first_part_;
  a.length = length;
  a.line = op.line;
  a.first_operand = static_cast<uint32_t>(draft_.operands.size());
  draft_.actions.push_back(a);
  return draft_.actions.back();
}

// A message and, if its source is compiled, the send.
uint32_t Resolver::send(const ScheduleOp& op, uint32_t from_rank, Spot spot, uint32_t to_rank, uint32_t length) {
  Message m;
  m.source = from_rank;
  m.destination = to_rank;
  m.length = length;
  m.hint = op.hint;
  uint32_t id = static_cast<uint32_t>(draft_.messages.size());
  if (compiled(from_rank)) {
    m.send_action = static_cast<uint32_t>(draft_.actions.size());
    Action& a = action(op, Opcode::kSend, from_rank, length);
    a.source_count = 1;
    a.destination_count = 1;
    a.message_out = id;
    operand(local(spot));
    operand({Space::kConnection, 0, id, 0});
  }
  draft_.messages.push_back(m);
  return id;
}

void Resolver::list_sources(const ScheduleOp& op, uint32_t destination_rank) {
  source_places_.clear();
  if (op.kind == ScheduleOp::Kind::kAccumulate) {
    Place own = op.dst;
    own.rank = destination_rank;
    source_places_.push_back(own);
  }
  for (uint32_t i = 0; i < op.source_count; ++i) {
    const Place& source = s_.sources[op.first_source + i];
    if (source.rank != kAllRanks) {
      source_places_.push_back(source);
      continue;
    }
    for (uint32_t r = 0; r < c_.ranks; ++r) {
      Place one = source;
      one.rank = r;
      source_places_.push_back(one);
    }
  }
  source_parts_.clear();
  for (const Place& place : source_places_) source_parts_.push_back(part_of(place));
}

// True if a statement's source lies on its destination at another offset, so that writing would change what is still
// to be read.
bool Resolver::overlaps_itself(uint32_t rank, const Place& destination, const Place& source, uint32_t length) const {
  if (source.rank != rank || source.buffer != destination.buffer || source.place == destination.place) return false;
  uint32_t low = std::min(source.place, destination.place), high = std::max(source.place, destination.place);
  return high - low < length;
}

// The part of its block that a place is, or kLongestPart for a place of a tmp. A function of the statement alone, so
// that both ends of a message agree, whichever of them is compiled.
uint32_t Resolver::part_of(const Place& place) const {
  return place.buffer >= buffers::kFirstTmp ? kLongestPart : place.place % parts();
}

// Which extent the places [from, from + length) of a statement move: that of its sources that are parts of blocks,
// which must agree. The destination may be of the same or a lower part. (A higher one would cut the data short: 10
// elements in 8 parts, part 1 into the place of part 2.)
void Resolver::find_parts(const ScheduleOp& op, uint32_t from, uint32_t length) {
  uint32_t k = parts();
  first_part_ = 0;
  if (k == 1) return;
  uint32_t to = part_of(op.dst), moved = kLongestPart;
  for (uint32_t part : source_parts_)
    if (moved == kLongestPart) moved = part;
  if (moved == kLongestPart) moved = to;
  first_part_ = moved == kLongestPart ? moved : (moved + from) % k;
  if (moved == kLongestPart) return;
  for (uint32_t i = from; i < from + length; ++i) {
    uint32_t part = (moved + i) % k;
    uint32_t other = part;
    for (uint32_t p : source_parts_)
      if (p != kLongestPart && (p + i) % k != part) other = (p + i) % k;
    uint32_t place = to == kLongestPart ? part : (to + i) % k;
    if (other == part && fits_for_every_count(part, place)) continue;
    if (!reported_lines_.insert(op.line).second) return;
    diagnostics_.error(
        diag::kPartDoesNotFit, range(op),
        other == part
            ? fmt::format("part {} of a block moves to where part {} lies, which is shorter for some counts", part,
                          place)
            : fmt::format("part {} and part {} of a block are combined, which differ in length for some counts", part,
                          other),
        "a part may move to a place of the same or a lower part, or through a `tmp`");
    return;
  }
}

// One run of places [from, from + length) of a statement whose operands are each contiguous on their ranks.
void Resolver::run_of(const ScheduleOp& op, uint32_t d, uint32_t from, uint32_t length) {
  Spot target = source_spots_.back();  // the destination's spot stands last
  find_parts(op, from, length);
  size_t n = source_places_.size();

  // Sends first: every source is read before anything is written.
  source_messages_.assign(n, kNoIndex);
  uint32_t remote = 0;
  for (size_t i = 0; i < n; ++i) {
    if (source_places_[i].rank == d) continue;
    source_messages_[i] = send(op, source_places_[i].rank, source_spots_[i], d, length);
    ++remote;
  }
  if (!compiled(d)) return;

  auto receive_operand = [&](size_t i) {
    return source_messages_[i] == kNoIndex ? local(source_spots_[i])
                                           : Operand{Space::kConnection, 0, source_messages_[i], 0};
  };
  auto emit = [&](std::initializer_list<size_t> from_sources, const Operand* accumulator, Spot to) {
    bool reduces = from_sources.size() + (accumulator != nullptr) > 1;
    uint32_t message = kNoIndex;
    for (size_t i : from_sources)
      if (source_messages_[i] != kNoIndex) message = source_messages_[i];
    Opcode code = message == kNoIndex ? (reduces ? Opcode::kReduce : Opcode::kCopy)
                                      : (reduces ? Opcode::kRecvReduce : Opcode::kRecv);
    uint32_t index = static_cast<uint32_t>(draft_.actions.size());
    Action& a = action(op, code, d, length);
    a.message_in = message;
    a.source_count = static_cast<uint8_t>(from_sources.size() + (accumulator != nullptr));
    a.destination_count = 1;
    if (accumulator != nullptr) operand(*accumulator);
    for (size_t i : from_sources) operand(receive_operand(i));
    operand(local(to));
    if (message != kNoIndex) draft_.messages[message].receive_action = index;
  };

  if (n == 1) {
    bool onto_itself =
        remote == 0 && source_spots_[0].buffer == target.buffer && source_spots_[0].place == target.place;
    if (!onto_itself) emit({0}, nullptr, target);
    return;
  }
  constexpr size_t kMostSources = 200;
  if (remote == 0 && n <= kMostSources) {
    Action& a = action(op, Opcode::kReduce, d, length);
    a.source_count = static_cast<uint8_t>(n);
    a.destination_count = 1;
    for (size_t i = 0; i < n; ++i) operand(local(source_spots_[i]));
    operand(local(target));
    return;
  }
  if (n == 2 && remote <= 1) {
    emit({0, 1}, nullptr, target);
    return;
  }
  // Fold one source at a time. The destination is the accumulator unless a later source still reads it.
  Spot accumulator = target;
  for (size_t i = 2; i < n; ++i) {
    if (source_messages_[i] == kNoIndex && map_.same_memory(d, source_spots_[i], target))
      accumulator = {buffers::kScratch, map_.fresh_scratch(d, length)};
  }
  size_t next = 2;
  if (source_messages_[0] != kNoIndex && source_messages_[1] != kNoIndex) {
    emit({0}, nullptr, accumulator);
    next = 1;
  } else {
    emit({0, 1}, nullptr, accumulator);
  }
  Operand so_far = local(accumulator);
  for (size_t i = next; i < n; ++i) emit({i}, &so_far, i + 1 == n ? target : accumulator);
}

void Resolver::statement_on(const ScheduleOp& op, uint32_t d, bool stage_sources) {
  Place destination = op.dst;
  destination.rank = d;
  list_sources(op, d);
  if (stage_sources && compiled(d)) {
    // Local sources that overlap the destination are copied aside first.
    for (size_t j = 0; j < source_places_.size(); ++j) {
      Place& source = source_places_[j];
      if (!overlaps_itself(d, destination, source, op.length)) continue;
      uint32_t first = map_.fresh_scratch(d, op.length);
      for (uint32_t i = 0; i < op.length; ++i) {
        Spot from = read(op, source, source_parts_[j], i, 1);
        find_parts(op, i, 1);
        copy(op, d, from, {buffers::kScratch, first + i});
      }
      source.buffer = kAside;
      source.place = first;
    }
  }
  for (uint32_t begin = 0; begin < op.length;) {
    uint32_t end = map_.piece_end(destination, begin, op.length);
    for (const Place& source : source_places_)
      if (source.buffer != kAside) end = std::min(end, map_.piece_end(source, begin, op.length));
    source_spots_.clear();
    for (size_t j = 0; j < source_places_.size(); ++j) {
      const Place& source = source_places_[j];
      Spot spot;
      if (source.buffer == kAside) {
        spot = {buffers::kScratch, source.place + begin};
      } else if (compiled(source.rank)) {
        spot = read(op, source, source_parts_[j], begin, end - begin);
      }
      source_spots_.push_back(spot);
    }
    source_spots_.push_back(compiled(d) ? map_.write_spot(destination, begin) : Spot{});
    run_of(op, d, begin, end - begin);
    begin = end;
  }
}

void Resolver::copy(const ScheduleOp& op, uint32_t rank, Spot from, Spot to) {
  Action& a = action(op, Opcode::kCopy, rank, 1);
  a.source_count = a.destination_count = 1;
  operand(local(from));
  operand(local(to));
}

void Resolver::statement(const ScheduleOp& op) {
  if (in_switch_ && switch_statement(op)) return;
  if (op.dst.rank != kAllRanks) {
    bool staged = false;
    for (uint32_t i = 0; i < op.source_count; ++i)
      staged |= overlaps_itself(op.dst.rank, op.dst, s_.sources[op.first_source + i], op.length);
    statement_on(op, op.dst.rank, staged);
    if (compiled(op.dst.rank)) mark_written(op.dst, op.length);
    return;
  }
  // To every rank: each reads all its sources before any rank writes. Ranks that are themselves sources write last, in
  // scratch-free order only if nobody still needs their old value; so all of it goes through a copy aside.
  bool destination_is_source = false;
  for (uint32_t i = 0; i < op.source_count; ++i) {
    const Place& source = s_.sources[op.first_source + i];
    bool same_place = source.buffer == op.dst.buffer && source.place == op.dst.place;
    bool copies_itself = op.kind == ScheduleOp::Kind::kCopy && same_place && source.rank != kAllRanks;
    destination_is_source |= source.buffer == op.dst.buffer && !copies_itself;
  }
  if (!destination_is_source) {
    for (uint32_t d = 0; d < c_.ranks; ++d) statement_on(op, d, false);
    for (uint32_t d = 0; d < c_.ranks; ++d) {
      Place destination = op.dst;
      destination.rank = d;
      if (compiled(d)) mark_written(destination, op.length);
    }
    return;
  }
  // Results go to scratch on every rank first, then to their places.
  std::vector<uint32_t> aside(c_.ranks, 0);
  ScheduleOp to_aside = op;
  to_aside.length = 1;
  for (uint32_t i = 0; i < op.length; ++i) {
    for (uint32_t d = 0; d < c_.ranks; ++d) {
      list_sources(op, d);
      source_spots_.clear();
      for (size_t j = 0; j < source_places_.size(); ++j) {
        const Place& source = source_places_[j];
        source_spots_.push_back(compiled(source.rank) ? read(op, source, source_parts_[j], i, 1) : Spot{});
      }
      // The extent is that of the final place.
      if (compiled(d)) aside[d] = map_.fresh_scratch(d, 1);
      source_spots_.push_back({buffers::kScratch, aside[d]});
      run_of(to_aside, d, i, 1);
    }
    for (uint32_t d = 0; d < c_.ranks; ++d) {
      if (!compiled(d)) continue;
      Place destination = op.dst;
      destination.rank = d;
      find_parts(op, i, 1);
      copy(op, d, {buffers::kScratch, aside[d]}, map_.write_spot(destination, i));
    }
  }
  for (uint32_t d = 0; d < c_.ranks; ++d) {
    Place destination = op.dst;
    destination.rank = d;
    if (compiled(d)) mark_written(destination, op.length);
  }
}

// A signal or wait that belongs to an operation of `owner` in the switch. The operand that it speaks for follows.
void Resolver::synchronise(const ScheduleOp& op, Opcode code, uint32_t rank, uint32_t owner, uint32_t counter,
                           uint32_t value) {
  Action& a = action(op, code, rank, op.length);
  a.switch_owner = owner;
  a.counter = counter;
  a.value = value;
}

// `buf[all][c] = buf[r][c]` and `buf[r][c] = reduce(buf[all][c])` in the switch, if the place is the same user memory
// on every rank; false if it must be done by ordinary transfers.
//
// The rank that starts the operation (its owner) first hears from every other rank that the memory may be touched, and
// tells it when that is done. Two counters for each pair, with one signal and one wait for each operation.
bool Resolver::switch_statement(const ScheduleOp& op) {
  if (op.source_count != 1 || s_.only_rank != kAllRanks || c_.ranks < 2) return false;
  if (!(s_.hints[op.hint] == Hint{})) return false;  // hints speak of connections and their lanes
  const Place& source = s_.sources[op.first_source];
  bool multicast = op.kind == ScheduleOp::Kind::kCopy && op.dst.rank == kAllRanks && source.rank != kAllRanks;
  bool reduction = op.kind == ScheduleOp::Kind::kReduce && op.dst.rank != kAllRanks && source.rank == kAllRanks;
  if (!multicast && !reduction) return false;
  uint32_t owner = multicast ? source.rank : op.dst.rank;
  list_sources(op, owner);
  find_parts(op, 0, op.length);
  uint32_t part = first_part_;
  Spot shared;
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    Place place = multicast ? op.dst : source;
    place.rank = r;
    bool whole = map_.piece_end(place, 0, op.length) == op.length;
    for (uint32_t i = 0; place.buffer == buffers::kIn && i < op.length; ++i)
      if (map_.input_gone_in_place(place, i)) draft_.inplace = false;
    uint32_t written = 0;
    for (uint32_t i = 0; whole && multicast == false && i < op.length; ++i)
      written += place.buffer == buffers::kIn || map_.written(place, i);
    if (!whole || (written != 0 && written != op.length)) return false;
    Spot spot, last;
    if (multicast) {
      spot = map_.write_spot(place, 0);
    } else if (place.buffer == buffers::kIn) {
      spot = {buffers::kIn, place.place};
    } else if (written == op.length) {
      spot = map_.write_spot(place, 0);
    } else if (!map_.input_spot(place, 0, spot) || !map_.input_spot(place, op.length - 1, last)) {
      return false;
    }
    if (spot.buffer == buffers::kScratch || (r > 0 && !(spot == shared))) return false;
    shared = spot;
  }
  Place own = multicast ? source : op.dst;
  if (map_.piece_end(own, 0, op.length) != op.length) return false;
  Spot own_spot = multicast ? read(op, own, part_of(own), 0, op.length) : map_.write_spot(own, 0);
  first_part_ = part;

  if (draft_.groups.empty()) {
    Group everyone;
    for (uint32_t r = 0; r < c_.ranks; ++r) everyone.ranks.push_back(r);
    draft_.groups.push_back(everyone);
    switch_turns_.assign(static_cast<size_t>(c_.ranks) * c_.ranks, 0);
    switch_counters_.assign(static_cast<size_t>(c_.ranks) * c_.ranks, kNoIndex);
  }
  auto pair = [&](uint32_t r) { return static_cast<size_t>(owner) * c_.ranks + r; };
  auto speaks_for = [&](bool written) {
    operand(local(shared));
    ++(written ? draft_.actions.back().destination_count : draft_.actions.back().source_count);
  };
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    if (r == owner) continue;
    if (switch_counters_[pair(r)] == kNoIndex) {
      switch_counters_[pair(r)] = static_cast<uint32_t>(draft_.counters.size());
      draft_.counters.push_back({owner, r, fmt::format("enter_{}_{}", r, owner)});
      draft_.counters.push_back({r, owner, fmt::format("leave_{}_{}", owner, r)});
    }
    ++switch_turns_[pair(r)];
    synchronise(op, Opcode::kSignal, r, owner, switch_counters_[pair(r)], 0);
    speaks_for(multicast);
  }
  for (uint32_t r = 0; r < c_.ranks; ++r)
    if (r != owner) synchronise(op, Opcode::kWait, owner, owner, switch_counters_[pair(r)], switch_turns_[pair(r)]);
  Action& act = action(op, multicast ? Opcode::kMulticast : Opcode::kSwitchReduce, owner, op.length);
  act.switch_owner = owner;
  act.source_count = act.destination_count = 1;
  Operand group{Space::kGroup, shared.buffer, 0, shared.place};
  operand(multicast ? local(own_spot) : group);
  operand(multicast ? group : local(own_spot));
  for (uint32_t r = 0; r < c_.ranks; ++r)
    if (r != owner) synchronise(op, Opcode::kSignal, owner, owner, switch_counters_[pair(r)] + 1, 0);
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    if (r == owner) continue;
    synchronise(op, Opcode::kWait, r, owner, switch_counters_[pair(r)] + 1, switch_turns_[pair(r)]);
    speaks_for(multicast);
  }
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    Place destination = op.dst;
    if (multicast) destination.rank = r;
    if (multicast || r == owner) mark_written(destination, op.length);
  }
  return true;
}

void Resolver::complete_outputs() {
  ScheduleOp op;
  op.line = kNoIndex;
  uint32_t k = parts();
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    if (!compiled(r)) continue;
    Place out{r, buffers::kOut, 0};
    for (uint32_t block = 0; block < c_.out_blocks(r); ++block) {
      int64_t in_block = static_cast<int64_t>(block) - c_.inplace_shift(r);
      if (in_block < 0 || in_block >= static_cast<int64_t>(c_.in_blocks(r))) continue;
      bool any_left = false;
      for (uint32_t p = 0; p < k; ++p) any_left |= !map_.written(out, block * k + p);
      if (!any_left) continue;
      Expectation want = c_.expect(r, block);
      bool own = want.all_ranks ? c_.ranks == 1 && want.block == in_block
                                : want.list.size() == 1 && want.list[0] == InBlock{r, static_cast<uint32_t>(in_block)};
      if (!own) continue;
      for (uint32_t p = 0; p < k;) {
        if (map_.written(out, block * k + p)) {
          ++p;
          continue;
        }
        uint32_t end = p;
        while (end < k && !map_.written(out, block * k + end)) ++end;
        first_part_ = p;
        Action& a = action(op, Opcode::kCopy, r, end - p);
        a.source_count = a.destination_count = 1;
        operand(local({buffers::kIn, static_cast<uint32_t>(in_block) * k + p}));
        operand(local({buffers::kOut, block * k + p}));
        p = end;
      }
    }
  }
}

void Resolver::run() {
  draft_.schedule = &s_;
  draft_.inplace = c_.offers_inplace();
  draft_.actions.reserve(s_.ops.size() * 2 + c_.ranks);
  draft_.messages.reserve(s_.ops.size());
  draft_.operands.reserve(s_.ops.size() * 5 + c_.ranks);
  for (const ScheduleOp& op : s_.ops) statement(op);
  complete_outputs();
  draft_.scratch_places.assign(c_.ranks, 0);
  for (uint32_t r = 0; r < c_.ranks; ++r) draft_.scratch_places[r] = map_.scratch_places(r);
}

// Sorts actions by rank; within a rank they already are in order of position.
void sort_by_rank(Draft& draft) {
  uint32_t n = draft.ranks();
  draft.rank_begin.assign(n + 1, 0);
  for (const Action& a : draft.actions) ++draft.rank_begin[a.rank + 1];
  for (uint32_t r = 0; r < n; ++r) draft.rank_begin[r + 1] += draft.rank_begin[r];
  std::vector<uint32_t> next(draft.rank_begin.begin(), draft.rank_begin.end() - 1);
  std::vector<Action> sorted(draft.actions.size());
  for (const Action& a : draft.actions) {
    uint32_t to = next[a.rank]++;
    sorted[to] = a;
    if (a.message_in != kNoIndex) draft.messages[a.message_in].receive_action = to;
    if (a.message_out != kNoIndex) draft.messages[a.message_out].send_action = to;
  }
  draft.actions = std::move(sorted);
}

}  // namespace

Draft resolve(const Schedule& schedule, bool in_switch, Diagnostics& diagnostics) {
  Draft draft;
  Resolver(schedule, in_switch, diagnostics, draft).run();
  sort_by_rank(draft);
  return draft;
}

}  // namespace coll
