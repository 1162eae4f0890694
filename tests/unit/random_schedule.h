#pragma once
// Random programs as Schedules, and what they mean: statements one after the other on all ranks' memory.
#include <cstdint>
#include <random>
#include <vector>

#include "ir/extent.h"
#include "ir/schedule.h"

namespace coll::testing {

// A custom contract that promises nothing, so that any program fulfils it.
inline Schedule random_schedule(uint32_t seed, uint32_t ranks, uint32_t parts, uint32_t statements) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Schedule s;
  s.name = "random_" + std::to_string(seed);
  s.contract.kind = ContractKind::kCustom;
  s.contract.name = "anything";
  s.contract.ranks = ranks;
  s.contract.custom_in = s.contract.custom_out = 2;
  s.grids[0].parts = parts;
  s.tmps.push_back({"t", 3 * parts});
  s.lines.files = {"random.coll"};
  uint32_t buf_places = 2 * parts;
  // Written places of tmp t, of each rank: only those may be read. Place i holds only data of part i mod parts, so that
  // nothing is ever cut short.
  std::vector<std::vector<uint8_t>> tmp_written(ranks, std::vector<uint8_t>(3 * parts, 0));
  auto readable = [&](uint32_t length, uint32_t part) {
    // A place to read `length` places of the given first part from.
    Place p;
    p.rank = below(ranks);
    if (length == 1 && below(3) == 0) {
      uint32_t t = below(3) * parts + part;
      if (tmp_written[p.rank][t]) return Place{p.rank, buffers::kFirstTmp, t};
    }
    p.buffer = buffers::kBuf;
    p.place = below(2) * parts + part;
    if (p.place + length > buf_places) p.place = part;
    return p;
  };
  for (uint32_t n = 0; n < statements; ++n) {
    ScheduleOp op;
    op.line = n;
    s.lines.lines.push_back({0, n + 1});
    op.length = below(4) == 0 && parts > 1 ? 2 : 1;
    uint32_t part = below(parts - op.length + 1);
    op.kind = static_cast<ScheduleOp::Kind>(below(3));
    op.dst.rank = below(ranks);
    op.dst.buffer = buffers::kBuf;
    op.dst.place = below(2) * parts + part;
    if (op.length == 1 && below(4) == 0) {
      uint32_t t = below(3) * parts + part;
      if (op.kind != ScheduleOp::Kind::kAccumulate || tmp_written[op.dst.rank][t]) {
        op.dst.buffer = buffers::kFirstTmp;
        op.dst.place = t;
      }
    }
    op.first_source = static_cast<uint32_t>(s.sources.size());
    op.source_count = op.kind == ScheduleOp::Kind::kCopy ? 1 : 1 + below(3);
    for (uint32_t i = 0; i < op.source_count; ++i) s.sources.push_back(readable(op.length, part));
    // Statements over all ranks: to every rank, or a reduction over every rank.
    Place& first = s.sources[op.first_source];
    if (below(6) == 0 && op.dst.buffer == buffers::kBuf && first.buffer == buffers::kBuf) {
      if (op.kind == ScheduleOp::Kind::kCopy) op.dst.rank = kAllRanks;
      if (op.kind == ScheduleOp::Kind::kReduce && op.source_count == 1) first.rank = kAllRanks;
    }
    if (op.dst.buffer == buffers::kFirstTmp) tmp_written[op.dst.rank][op.dst.place] = 1;
    s.ops.push_back(op);
  }
  return s;
}

// What the program leaves in `out` of each rank, in 64-bit integers that wrap, for the given inputs (contract blocks of
// `count` elements). out[rank] keeps its old value where nothing was written.
inline void run_in_order(const Schedule& s, uint64_t count, const std::vector<std::vector<int64_t>>& in,
                         std::vector<std::vector<int64_t>>& out) {
  uint32_t ranks = s.ranks(), parts = s.grids[0].parts, places = s.contract.buf_blocks() * parts;
  struct Rank {
    std::vector<std::vector<int64_t>> buf, tmp;
    std::vector<uint8_t> written;
  };
  auto extent = [&](uint32_t place) {
    Extent e = part_extent(s.grids[0], count, 8, place % parts);
    return Extent{e.begin + place / parts * count, e.length};
  };
  std::vector<Rank> memory(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    memory[r].written.assign(places, 0);
    for (uint32_t p = 0; p < places; ++p) {
      Extent e = extent(p);
      memory[r].buf.emplace_back(in[r].begin() + static_cast<std::ptrdiff_t>(e.begin),
                                 in[r].begin() + static_cast<std::ptrdiff_t>(e.begin + e.length));
    }
    memory[r].tmp.assign(s.tmps[0].places, std::vector<int64_t>(extent(0).length, 0));
  }
  auto cell = [&](const Place& p, uint32_t i) -> std::vector<int64_t>& {
    return p.buffer == buffers::kBuf ? memory[p.rank].buf[p.place + i] : memory[p.rank].tmp[p.place + i];
  };
  for (const ScheduleOp& op : s.ops) {
    std::vector<std::vector<int64_t>> values;
    std::vector<Place> sources;
    for (uint32_t j = 0; j < op.source_count; ++j) {
      Place source = s.sources[op.first_source + j];
      if (source.rank != kAllRanks) {
        sources.push_back(source);
        continue;
      }
      for (source.rank = 0; source.rank < ranks; ++source.rank) sources.push_back(source);
    }
    for (uint32_t i = 0; i < op.length; ++i) {
      size_t length = extent(0).length;
      auto at_most = [&](const Place& p) {
        if (p.buffer == buffers::kBuf) length = std::min<size_t>(length, extent(p.place + i).length);
      };
      at_most(op.dst);
      for (const Place& source : sources) at_most(source);
      std::vector<int64_t> value(length, 0);
      auto add = [&](const Place& p) {
        for (size_t e = 0; e < length; ++e)
          value[e] = static_cast<int64_t>(static_cast<uint64_t>(value[e]) + static_cast<uint64_t>(cell(p, i)[e]));
      };
      if (op.kind == ScheduleOp::Kind::kAccumulate) add(op.dst);
      for (const Place& source : sources) add(source);
      values.push_back(value);
    }
    Place to = op.dst;
    uint32_t first_rank = to.rank == kAllRanks ? 0 : to.rank, last_rank = to.rank == kAllRanks ? ranks - 1 : to.rank;
    for (to.rank = first_rank; to.rank <= last_rank; ++to.rank) {
      for (uint32_t i = 0; i < op.length; ++i) {
        std::copy(values[i].begin(), values[i].end(), cell(to, i).begin());
        if (to.buffer == buffers::kBuf) memory[to.rank].written[to.place + i] = 1;
      }
    }
  }
  for (uint32_t r = 0; r < ranks; ++r)
    for (uint32_t p = 0; p < places; ++p)
      if (memory[r].written[p])
        std::copy(memory[r].buf[p].begin(), memory[r].buf[p].end(),
                  out[r].begin() + static_cast<std::ptrdiff_t>(extent(p).begin));
}

}  // namespace coll::testing
