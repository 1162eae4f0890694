#include "passes/buffer_map.h"

#include <algorithm>

#include "ir/support/check.h"

namespace coll {

BufferMap::BufferMap(const Schedule& schedule) : s_(schedule), c_(schedule.contract), ranks_(schedule.ranks()) {
  uint32_t buf_places = c_.buf_blocks() * parts();
  for (uint32_t r = 0; r < c_.ranks; ++r) {
    RankState& state = ranks_[r];
    state.in_places = c_.in_blocks(r) * parts();
    state.out_places = c_.out_blocks(r) * parts();
    state.in_first = static_cast<int64_t>(c_.in_offset(r)) * parts();
    state.out_first = static_cast<int64_t>(c_.out_offset(r)) * parts();
    bool out_covers_buf = state.out_first == 0 && state.out_places == buf_places;
    state.shadow = out_covers_buf ? 0 : buf_places;
    state.virtual_places = state.shadow;
    for (const Tmp& tmp : s_.tmps) state.virtual_places += tmp.places;
    if (!compiled(r)) continue;
    state.out_written.assign(state.out_places, 0);
    state.scratch_written.assign(state.virtual_places, 0);
  }
}

Spot BufferMap::write_spot(const Place& place, uint32_t i) const {
  const RankState& state = ranks_[place.rank];
  uint32_t p = place.place + i;
  COLL_CHECK(place.buffer != buffers::kIn, "the front end and the schedule reader refuse statements that write `in`");
  if (place.buffer == buffers::kOut) return {buffers::kOut, p};
  if (place.buffer == buffers::kBuf) {
    int64_t out = static_cast<int64_t>(p) - state.out_first;
    if (out >= 0 && out < static_cast<int64_t>(state.out_places)) return {buffers::kOut, static_cast<uint32_t>(out)};
    return {buffers::kScratch, p};
  }
  uint32_t base = state.shadow;
  for (uint16_t t = buffers::kFirstTmp; t < place.buffer; ++t) base += s_.tmps[t - buffers::kFirstTmp].places;
  return {buffers::kScratch, base + p};
}

void BufferMap::mark_written(const Place& place, uint32_t i) {
  RankState& state = ranks_[place.rank];
  Spot spot = write_spot(place, i);
  (spot.buffer == buffers::kOut ? state.out_written : state.scratch_written)[spot.place] = 1;
}

bool BufferMap::written(const Place& place, uint32_t i) const {
  const RankState& state = ranks_[place.rank];
  Spot spot = write_spot(place, i);
  return (spot.buffer == buffers::kOut ? state.out_written : state.scratch_written)[spot.place] != 0;
}

bool BufferMap::input_spot(const Place& place, uint32_t i, Spot& spot) const {
  if (place.buffer != buffers::kBuf) return false;
  const RankState& state = ranks_[place.rank];
  int64_t in = static_cast<int64_t>(place.place) + i - state.in_first;
  if (in < 0 || in >= static_cast<int64_t>(state.in_places)) return false;
  spot = {buffers::kIn, static_cast<uint32_t>(in)};
  return true;
}

bool BufferMap::input_gone_in_place(const Place& place, uint32_t i) const {
  const RankState& state = ranks_[place.rank];
  int64_t alias = static_cast<int64_t>(place.place) + i + c_.inplace_shift(place.rank) * static_cast<int64_t>(parts());
  return alias >= 0 && alias < static_cast<int64_t>(state.out_places) && state.out_written[alias] != 0;
}

uint32_t BufferMap::piece_end(const Place& place, uint32_t i, uint32_t length) const {
  if (place.buffer != buffers::kBuf) return length;
  const RankState& state = ranks_[place.rank];
  int64_t at = static_cast<int64_t>(place.place) + i;
  int64_t end = static_cast<int64_t>(place.place) + length;
  for (int64_t edge : {state.out_first, state.out_first + static_cast<int64_t>(state.out_places)})
    if (edge > at) end = std::min(end, edge);
  return static_cast<uint32_t>(end - place.place);
}

uint32_t BufferMap::fresh_scratch(uint32_t rank, uint32_t length) {
  RankState& state = ranks_[rank];
  uint32_t first = state.virtual_places;
  state.virtual_places += length;
  state.scratch_written.resize(first + length, 1);
  return first;
}

bool BufferMap::same_memory(uint32_t rank, const Spot& a, const Spot& b) const {
  auto unified = [&](const Spot& spot) -> std::pair<uint16_t, int64_t> {
    int64_t alias = spot.place + c_.inplace_shift(rank) * static_cast<int64_t>(parts());
    if (spot.buffer == buffers::kIn && c_.offers_inplace() && alias >= 0) return {buffers::kOut, alias};
    return {spot.buffer, spot.place};
  };
  return unified(a) == unified(b);
}

}  // namespace coll
