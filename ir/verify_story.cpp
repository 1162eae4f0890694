#include "ir/verify_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace coll::verifier {

std::string who(const Tables& t, uint32_t instruction) {
  const Instruction& i = t.plan.instructions[instruction];
  uint32_t lane = t.lane_of[instruction];
  uint32_t rank = t.plan.lanes[lane].rank;
  return fmt::format("rank {} lane {} step {} (`{}`, {})", rank, lane - t.rank_lanes[rank],
                     instruction - t.plan.lanes[lane].first, info(i.op).mnemonic, t.plan.lines.describe(i.line));
}

std::string place_name(const Tables& t, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place) {
  const char* name = buffer == buffers::kIn ? "in" : buffer == buffers::kOut ? "out" : "scratch";
  if (buffer != buffers::kScratch && t.plan.grids.size() > 1)
    return fmt::format("{}[{}] of grid {} of rank {}", name, place, grid, rank);
  return fmt::format("{}[{}] of rank {}", name, place, rank);
}

std::string leaf_name(const Tables& t, uint32_t leaf) {
  auto rank = static_cast<uint32_t>(std::upper_bound(t.in_base.begin(), t.in_base.end(), leaf) - t.in_base.begin() - 1);
  uint32_t within = leaf - t.in_base[rank];
  uint32_t grid = 0;
  while (within >= t.in_blocks[rank] * t.parts_before[grid + 1]) ++grid;
  within -= t.in_blocks[rank] * t.parts_before[grid];
  return place_name(t, rank, buffers::kIn, grid, within);
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  std::string text;
  size_t shown = names.size() <= kShown + 1 ? names.size() : kShown;
  for (size_t n = 0; n < shown; ++n) {
    if (n > 0) text += n + 1 == names.size() ? " and " : ", ";
    text += names[n];
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

bool refuse(VerifyResult& result, Fault fault, std::vector<std::string> lines) {
  bool unjudged = fault == Fault::kConnectionShared || fault == Fault::kCounterShared;
  result.verdict = unjudged ? Verdict::kCannotBeJudged : Verdict::kRefused;
  result.story.fault = fault;
  result.story.rank = result.story.lane = result.story.step = kNone;
  result.story.line.clear();
  result.story.lines = std::move(lines);
  return false;
}

bool refuse_at(const Tables& t, VerifyResult& result, Fault fault, uint32_t instruction,
               std::vector<std::string> lines) {
  refuse(result, fault, std::move(lines));
  uint32_t lane = t.lane_of[instruction];
  result.story.rank = t.plan.lanes[lane].rank;
  result.story.lane = lane - t.rank_lanes[result.story.rank];
  result.story.step = instruction - t.plan.lanes[lane].first;
  if (std::string line = t.plan.lines.describe(t.plan.instructions[instruction].line); line != "?")
    result.story.line = std::move(line);
  return false;
}

Provenance provenance(const Tables& t, const std::vector<uint32_t>& order, uint32_t rank, uint32_t grid,
                      uint32_t place) {
  const Plan& plan = t.plan;
  // Weights of places of out and scratch, and of places of messages, still to be explained. Keys of memory: out
  // first, then scratch. Keys of messages: connection, then number of the place within all the connection carries.
  std::unordered_map<uint64_t, uint64_t> memory, messages;
  std::unordered_map<uint32_t, uint64_t> leaves;
  uint64_t scratch_from = t.out_base.back();
  std::vector<uint64_t> sent(plan.connections.size(), 0), received(plan.connections.size(), 0);
  for (uint32_t i : order) {
    if (t.ends[i].take != kNone) received[t.ends[i].take] += plan.instructions[i].length;
    if (t.ends[i].give != kNone) sent[t.ends[i].give] += plan.instructions[i].length;
  }
  auto add = [](uint64_t& to, uint64_t weight) { to = to + weight < to ? UINT64_MAX : to + weight; };
  auto message_key = [](uint32_t connection, uint64_t n) { return static_cast<uint64_t>(connection) << 36 | n; };
  memory[t.out_index(rank, grid, place)] = 1;

  Provenance result;
  for (auto it = order.rbegin(); it != order.rend() && !(memory.empty() && messages.empty()); ++it) {
    const Instruction& in = plan.instructions[*it];
    uint32_t self = t.rank_of(*it);
    Ends ends = t.ends[*it];
    if (ends.give != kNone) sent[ends.give] -= in.length;
    if (ends.take != kNone) received[ends.take] -= in.length;
    if (in.source_count == 0) continue;
    auto key_of = [&](const Operand& o, uint32_t owner, uint32_t i) -> uint64_t {
      return o.buffer == buffers::kScratch ? scratch_from + t.scratch_base[owner] + o.place + i
                                           : t.out_index(owner, in.grid, o.place + i);
    };
    for (uint32_t i = 0; i < in.length; ++i) {
      uint64_t weight = 0;
      auto claim = [&](std::unordered_map<uint64_t, uint64_t>& needed, uint64_t key) {
        auto found = needed.find(key);
        if (found == needed.end()) return;
        add(weight, found->second);
        needed.erase(found);
      };
      for (const Operand& o : plan.destinations(in)) {
        if (o.space == Space::kConnection) {
          claim(messages, message_key(o.rank, sent[o.rank] + i));
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan.groups[o.rank].ranks) claim(memory, key_of(o, member, i));
        } else {
          claim(memory, key_of(o, o.space == Space::kPeer ? o.rank : self, i));
        }
      }
      if (weight == 0) continue;
      if (!result.written) result.writer = *it;
      result.written = true;
      if (result.reducer == kNone && in.source_count > 1) result.reducer = *it;
      auto pass_on = [&](const Operand& o, uint32_t owner) {
        if (o.buffer == buffers::kIn) {
          add(leaves[t.in_index(owner, in.grid, o.place + i)], weight);
        } else {
          add(memory[key_of(o, owner, i)], weight);
        }
      };
      for (const Operand& o : plan.sources(in)) {
        if (o.space == Space::kConnection) {
          add(messages[message_key(o.rank, received[o.rank] + i)], weight);
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan.groups[o.rank].ranks) pass_on(o, member);
        } else {
          pass_on(o, o.space == Space::kPeer ? o.rank : self);
        }
      }
    }
  }
  for (auto [leaf, count] : leaves) result.contributions.push_back({leaf, count});
  std::sort(result.contributions.begin(), result.contributions.end(),
            [](const Contribution& a, const Contribution& b) { return a.leaf < b.leaf; });
  return result;
}

}  // namespace coll::verifier
