// Pass 1: from statements over all ranks' memory to each rank's own actions.
//
// - `buf` becomes `in`, `out` or scratch: a place is read from `in` until it has been written, and written to `out`
//   where the contract gives the rank that block, else to scratch. `in` is never written. So one plan serves out of
//   place and in place: only the addresses differ.
// - A statement between ranks becomes messages (a send here, a receive there); one within a rank a copy or reduction.
//   A reduction with several remote sources is folded one source at a time, in the listed order, so that every rank
//   that folds the same list builds the same expression.
// - Output places that the contract wants to be the rank's own input, and that no statement wrote, are copied at the
//   end (on a place in itself in place, which the executor skips).
//
// Everything about a rank is decided from the statements that touch it, in their order; so one rank's part can be
// compiled alone.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/support/check.h"
#include "passes/diagnostics.h"
#include "passes/steps.h"

namespace coll {

namespace {

// Where a place of the program lies on its rank.
struct Spot {
  uint16_t buffer = 0;
  uint32_t place = 0;
};

class Resolver {
 public:
  Resolver(const Schedule& schedule, Diagnostics& diagnostics, Draft& draft)
      : s_(schedule), c_(schedule.contract), diagnostics_(diagnostics), draft_(draft) {}

  void run();

 private:
  struct RankState {
    uint32_t in_places = 0, out_places = 0;
    int64_t in_first = 0, out_first = 0;  // place of `buf` at which in / out begin
    uint32_t shadow = 0;                  // virtual scratch places [0, shadow): `buf` places without `out`
    uint32_t virtual_places = 0;
    std::vector<uint8_t> out_written, scratch_written;
  };

  bool compiled(uint32_t rank) const { return s_.only_rank == kAllRanks || s_.only_rank == rank; }
  void start_rank(uint32_t rank);
  void statement(const ScheduleOp& op);
  void statement_on(const ScheduleOp& op, uint32_t destination_rank, bool stage_sources);
  // Appends the statement's sources with `all` written out.
  void list_sources(const ScheduleOp& op, uint32_t destination_rank);
  bool overlaps_itself(uint32_t rank, const Place& destination, const Place& source, uint32_t length) const;

  bool same_memory(uint32_t rank, const Spot& a, const Spot& b) const;

  Spot read(const Place& place, uint32_t i, const ScheduleOp& op);
  Spot write(const Place& place, uint32_t i) const;
  void mark_written(const Place& place, uint32_t length);
  void find_parts(const ScheduleOp& op, uint32_t length);
  void run_of(const ScheduleOp& op, uint32_t destination_rank, uint32_t length);
  void complete_outputs();

  uint32_t operand(Operand o) {
    draft_.operands.push_back(o);
    return static_cast<uint32_t>(draft_.operands.size() - 1);
  }
  Operand local(Spot spot) const { return {Space::kLocal, spot.buffer, 0, spot.place}; }
  Action& action(const ScheduleOp& op, Opcode code, uint32_t rank, uint32_t length);
  uint32_t fresh_scratch(uint32_t rank, uint32_t length);
  uint32_t send(const ScheduleOp& op, uint32_t from_rank, Spot spot, uint32_t to_rank, uint32_t length);
  SourceRange range(const ScheduleOp& op) const {
    return op.line < s_.line_ranges.size() ? s_.line_ranges[op.line] : SourceRange{};
  }
  uint32_t parts() const { return s_.grids[0].parts; }

  const Schedule& s_;
  const Contract& c_;
  Diagnostics& diagnostics_;
  Draft& draft_;
  std::vector<RankState> ranks_;
  uint32_t position_ = 0;
  uint32_t first_part_ = 0;
  std::set<uint32_t> reported_lines_;

  std::vector<Place> source_places_;       // of the statement at hand, `all` written out
  std::vector<Spot> source_spots_;         // of the run at hand
  std::vector<uint32_t> source_messages_;  // message of each source, or kNoIndex when it is local
};

void Resolver::start_rank(uint32_t rank) {
  RankState& state = ranks_[rank];
  state.in_places = c_.in_blocks(rank) * parts();
  state.out_places = c_.out_blocks(rank) * parts();
  state.in_first = static_cast<int64_t>(c_.in_offset(rank)) * parts();
  state.out_first = static_cast<int64_t>(c_.out_offset(rank)) * parts();
  uint32_t buf_places = c_.buf_blocks() * parts();
  bool out_covers_buf = state.out_first == 0 && state.out_places == buf_places;
  state.shadow = out_covers_buf ? 0 : buf_places;
  state.virtual_places = state.shadow;
  for (const Tmp& tmp : s_.tmps) state.virtual_places += tmp.places;
  state.out_written.assign(state.out_places, 0);
  state.scratch_written.assign(state.virtual_places, 0);
}

// The spot that place i of an access lies on when it is written.
Spot Resolver::write(const Place& place, uint32_t i) const {
  const RankState& state = ranks_[place.rank];
  uint32_t p = place.place + i;
  if (place.buffer == buffers::kOut) return {buffers::kOut, p};
  COLL_CHECK(place.buffer != buffers::kIn, "the front end and the schedule reader refuse statements that write `in`");
  if (place.buffer == buffers::kBuf) {
    int64_t out = static_cast<int64_t>(p) - state.out_first;
    if (out >= 0 && out < static_cast<int64_t>(state.out_places)) return {buffers::kOut, static_cast<uint32_t>(out)};
    return {buffers::kScratch, p};
  }
  uint32_t base = state.shadow;
  for (uint16_t t = buffers::kFirstTmp; t < place.buffer; ++t) base += s_.tmps[t - buffers::kFirstTmp].places;
  return {buffers::kScratch, base + p};
}

// The spot that place i of an access is read from; reports a read of what nobody wrote.
Spot Resolver::read(const Place& place, uint32_t i, const ScheduleOp& op) {
  RankState& state = ranks_[place.rank];
  uint32_t p = place.place + i;
  if (place.buffer == buffers::kIn) {
    // In place, the input may be gone already.
    int64_t alias = static_cast<int64_t>(p) + c_.inplace_shift(place.rank) * parts();
    if (alias >= 0 && alias < static_cast<int64_t>(state.out_places) && state.out_written[alias])
      draft_.inplace = false;
    return {buffers::kIn, p};
  }
  Spot spot = write(place, i);
  bool written = spot.buffer == buffers::kOut ? state.out_written[spot.place] : state.scratch_written[spot.place];
  if (written) return spot;
  if (place.buffer == buffers::kBuf) {
    int64_t in = static_cast<int64_t>(p) - state.in_first;
    if (in >= 0 && in < static_cast<int64_t>(state.in_places)) return {buffers::kIn, static_cast<uint32_t>(in)};
  }
  if (reported_lines_.insert(op.line).second) {
    diagnostics_.error(
        diag::kReadUnwritten, range(op),
        fmt::format("rank {} reads `{}[{}][{}]`, which no statement before has written", place.rank,
                    s_.buffer_name(place.buffer), place.rank, p),
        place.buffer == buffers::kBuf
            ? fmt::format("`{}` gives this rank no input there; every other place must be written first", c_.name)
            : "statements run in the order in which they are written");
  }
  return spot;
}

void Resolver::mark_written(const Place& place, uint32_t length) {
  RankState& state = ranks_[place.rank];
  for (uint32_t i = 0; i < length; ++i) {
    Spot spot = write(place, i);
    if (spot.buffer == buffers::kOut) state.out_written[spot.place] = 1;
    if (spot.buffer == buffers::kScratch) state.scratch_written[spot.place] = 1;
  }
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

uint32_t Resolver::fresh_scratch(uint32_t rank, uint32_t length) {
  uint32_t first = ranks_[rank].virtual_places;
  ranks_[rank].virtual_places += length;
  ranks_[rank].scratch_written.resize(first + length, 1);
  return first;
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
}

// True if a statement's source lies on its destination at another offset, so that writing would change what is still
// to be read.
bool Resolver::overlaps_itself(uint32_t rank, const Place& destination, const Place& source, uint32_t length) const {
  if (source.rank != rank || source.buffer != destination.buffer || source.place == destination.place) return false;
  uint32_t low = std::min(source.place, destination.place), high = std::max(source.place, destination.place);
  return high - low < length;
}

// True if two spots of a rank are the same memory, out of place or in place.
bool Resolver::same_memory(uint32_t rank, const Spot& a, const Spot& b) const {
  auto unified = [&](const Spot& spot) -> std::pair<uint16_t, int64_t> {
    int64_t alias = spot.place + c_.inplace_shift(rank) * static_cast<int64_t>(parts());
    if (spot.buffer == buffers::kIn && c_.offers_inplace() && alias >= 0) return {buffers::kOut, alias};
    return {spot.buffer, spot.place};
  };
  return unified(a) == unified(b);
}

// Which extent the places of a run move: that of its sources in user buffers, which must agree. The destination (the
// last spot) may be of the same or a lower part. (A higher one would cut the data short: 10 elements in 8 parts, part 1
// into the place of part 2.)
void Resolver::find_parts(const ScheduleOp& op, uint32_t length) {
  uint32_t k = s_.grids[op.grid].parts;
  first_part_ = 0;
  if (k == 1) return;
  first_part_ = kLongestPart;
  for (const Spot& spot : source_spots_) {
    if (spot.buffer == buffers::kScratch || first_part_ != kLongestPart) continue;
    first_part_ = spot.place % k;
  }
  if (first_part_ == kLongestPart) return;
  for (size_t s = 0; s < source_spots_.size(); ++s) {
    const Spot& spot = source_spots_[s];
    bool is_destination = s + 1 == source_spots_.size();
    if (spot.buffer == buffers::kScratch || spot.place % k == first_part_) continue;
    for (uint32_t i = 0; i < length; ++i) {
      uint32_t moved = (first_part_ + i) % k, place = (spot.place + i) % k;
      if (moved == place || (is_destination && fits_for_every_count(moved, place))) continue;
      if (reported_lines_.insert(op.line).second) {
        diagnostics_.error(
            diag::kPartDoesNotFit, range(op),
            is_destination
                ? fmt::format("part {} of a block moves to where part {} lies, which is shorter for some counts", moved,
                              place)
                : fmt::format("part {} and part {} of a block are combined, which differ in length for some counts",
                              moved, place),
            "a part may move to a place of the same or a lower part, or through a `tmp`");
      }
      return;
    }
  }
}

// One run of `length` places of a statement whose operands are each contiguous on their ranks.
void Resolver::run_of(const ScheduleOp& op, uint32_t d, uint32_t length) {
  Spot target = source_spots_.back();  // the destination's spot stands last
  find_parts(op, length);
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
    if (source_messages_[i] == kNoIndex && same_memory(d, source_spots_[i], target))
      accumulator = {buffers::kScratch, fresh_scratch(d, length)};
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
  if (stage_sources) {
    // Local sources that overlap the destination are copied aside first.
    for (Place& source : source_places_) {
      if (!compiled(d) || !overlaps_itself(d, destination, source, op.length)) continue;
      uint32_t first = fresh_scratch(d, op.length);
      for (uint32_t i = 0; i < op.length; ++i) {
        source_spots_.assign({read(source, i, op), Spot{buffers::kScratch, first + i}});
        find_parts(op, 1);
        Action& a = action(op, Opcode::kCopy, d, 1);
        a.source_count = a.destination_count = 1;
        operand(local(source_spots_[0]));
        operand(local(source_spots_[1]));
      }
      // From here on the source is that scratch; tmps are addressed through their first place, so go by offset.
      source.buffer = 0xffff;
      source.place = first;
    }
  }
  auto spot_of = [&](const Place& place, uint32_t i) {
    if (place.buffer == 0xffff) return Spot{buffers::kScratch, place.place + i};
    return compiled(place.rank) ? read(place, i, op) : Spot{};
  };
  // Split where an operand changes its buffer or jumps.
  std::vector<Spot> first_spots;
  uint32_t begin = 0;
  auto spots_at = [&](uint32_t i, std::vector<Spot>& spots) {
    spots.clear();
    for (const Place& source : source_places_) spots.push_back(spot_of(source, i));
    spots.push_back(compiled(d) ? write(destination, i) : Spot{});
  };
  spots_at(0, first_spots);
  std::vector<Spot> spots;
  for (uint32_t i = 1; i <= op.length; ++i) {
    bool ends = i == op.length;
    if (!ends) {
      spots_at(i, spots);
      for (size_t j = 0; j < spots.size() && !ends; ++j) {
        uint32_t rank = j + 1 == spots.size() ? d : source_places_[j].rank;
        if (!compiled(rank)) continue;
        ends = spots[j].buffer != first_spots[j].buffer || spots[j].place != first_spots[j].place + (i - begin);
      }
    }
    if (!ends) continue;
    source_spots_ = first_spots;
    run_of(op, d, i - begin);
    first_spots = spots;
    begin = i;
  }
}

void Resolver::statement(const ScheduleOp& op) {
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
      for (Place& source : source_places_) source.place += i;
      source_spots_.clear();
      for (const Place& source : source_places_)
        source_spots_.push_back(compiled(source.rank) ? read(source, 0, op) : Spot{});
      // The extent is that of the final place.
      if (compiled(d)) aside[d] = fresh_scratch(d, 1);
      source_spots_.push_back({buffers::kScratch, aside[d]});
      run_of(to_aside, d, 1);
    }
    for (uint32_t d = 0; d < c_.ranks; ++d) {
      if (!compiled(d)) continue;
      Place destination = op.dst;
      destination.rank = d;
      source_spots_.assign({Spot{buffers::kScratch, aside[d]}, write(destination, i)});
      find_parts(op, 1);
      Action& a = action(op, Opcode::kCopy, d, 1);
      a.source_count = a.destination_count = 1;
      operand(local(source_spots_[0]));
      operand(local(source_spots_[1]));
    }
  }
  for (uint32_t d = 0; d < c_.ranks; ++d) {
    Place destination = op.dst;
    destination.rank = d;
    if (compiled(d)) mark_written(destination, op.length);
  }
}

void Resolver::complete_outputs() {
  ScheduleOp op;
  op.line = kNoIndex;
  uint32_t k = parts();
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    if (!compiled(r)) continue;
    const RankState& state = ranks_[r];
    for (uint32_t block = 0; block < c_.out_blocks(r); ++block) {
      int64_t in_block = static_cast<int64_t>(block) - c_.inplace_shift(r);
      if (in_block < 0 || in_block >= static_cast<int64_t>(c_.in_blocks(r))) continue;
      bool any_left = false;
      for (uint32_t p = 0; p < k; ++p) any_left |= state.out_written[block * k + p] == 0;
      if (!any_left) continue;
      Expectation want = c_.expect(r, block);
      bool own = want.all_ranks ? c_.ranks == 1 && want.block == in_block
                                : want.list.size() == 1 && want.list[0] == InBlock{r, static_cast<uint32_t>(in_block)};
      if (!own) continue;
      for (uint32_t p = 0; p < k;) {
        if (state.out_written[block * k + p]) {
          ++p;
          continue;
        }
        uint32_t end = p;
        while (end < k && !state.out_written[block * k + end]) ++end;
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
  ranks_.resize(c_.ranks);
  for (uint32_t r = 0; r < c_.ranks; ++r)
    if (compiled(r)) start_rank(r);
  draft_.actions.reserve(s_.ops.size() * 2 + c_.ranks);
  draft_.messages.reserve(s_.ops.size());
  draft_.operands.reserve(s_.ops.size() * 5 + c_.ranks);
  for (const ScheduleOp& op : s_.ops) statement(op);
  complete_outputs();
  draft_.scratch_places.assign(c_.ranks, 0);
  for (uint32_t r = 0; r < c_.ranks; ++r) draft_.scratch_places[r] = ranks_[r].virtual_places;
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

void check_hints(const Schedule& s, Diagnostics& diagnostics) {
  std::set<std::pair<uint32_t, uint16_t>> seen;
  for (const ScheduleOp& op : s.ops) {
    const Hint& hint = s.hints[op.hint];
    if ((hint.via.empty() && hint.wire.empty()) || !seen.insert({op.line, op.hint}).second) continue;
    SourceRange range = op.line < s.line_ranges.size() ? s.line_ranges[op.line] : SourceRange{};
    if (!hint.via.empty()) {
      diagnostics.error(
          diag::kViaHint, range,
          fmt::format("`via {}` cannot be honoured: the machine is not described, so it has no link classes", hint.via),
          "leave the hint out; it is never needed for correctness");
    }
    if (!hint.wire.empty()) {
      diagnostics.error(
          diag::kWireHint, range,
          fmt::format("`wire {}` cannot be honoured: no target of this version compresses messages", hint.wire),
          "leave the hint out; it is never needed for correctness");
    }
  }
}

}  // namespace

Draft resolve(const Schedule& schedule, Diagnostics& diagnostics) {
  Draft draft;
  check_hints(schedule, diagnostics);
  Resolver(schedule, diagnostics, draft).run();
  sort_by_rank(draft);
  return draft;
}

Locations::Locations(const Draft& draft, uint32_t rank, uint16_t grid) {
  const Contract& c = draft.schedule->contract;
  uint32_t parts = draft.schedule->grids[grid].parts;
  in_ = c.in_blocks(rank) * parts;
  out_ = c.out_blocks(rank) * parts;
  scratch_ = draft.scratch_places[rank];
  shift_ = c.inplace_shift(rank) * static_cast<int64_t>(parts);
  inplace_ = draft.inplace;
}

}  // namespace coll
