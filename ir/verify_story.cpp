#include "ir/verify_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace coll::verifier {

std::string who(const Tables& t, uint32_t instruction) {
  const Instruction& i = t.plan.instructions[instruction];
  uint32_t lane = t.lane_of[instruction];
  uint32_t rank = t.plan.lanes[lane].rank;
  return fmt::format("rank {} lane {} step {} (`{}`, {})", rank, lane - t.rank_lanes[rank],
                     instruction - t.plan.lanes[lane].first, info(i.op).mnemonic, t.plan.lines.describe(i.line));
}

namespace {

std::string bare_name(const Tables& t, uint16_t buffer, uint32_t grid, uint32_t place) {
  const char* name = buffer == buffers::kIn ? "in" : buffer == buffers::kOut ? "out" : "scratch";
  if (buffer != buffers::kScratch && t.plan.grids.size() > 1)
    return fmt::format("{}[{}] of grid {}", name, place, grid);
  return fmt::format("{}[{}]", name, place);
}

// "every rank", "rank 3", "ranks 0, 2 and 4 to 7"
std::string ranks_name(const Tables& t, const std::vector<uint32_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() == t.plan.ranks()) return "every rank";
  std::vector<std::string> runs;
  for (size_t n = 0; n < ranks.size();) {
    size_t end = n + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - n < 3) end = n + 1;
    runs.push_back(end - n > 1 ? fmt::format("{} to {}", ranks[n], ranks[end - 1]) : fmt::format("{}", ranks[n]));
    n = end;
  }
  return "ranks " + list_of(runs);
}

}  // namespace

std::string place_name(const Tables& t, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place) {
  return fmt::format("{} of rank {}", bare_name(t, buffer, grid, place), rank);
}

std::string place_on_rank(const Tables& t, uint32_t rank, uint16_t buffer, uint32_t grid, uint32_t place) {
  return fmt::format("rank {} {}", rank, bare_name(t, buffer, grid, place));
}

std::string contributions_name(const Tables& t, std::span<const Contribution> contributions) {
  // Grouped by how often they are counted and by place.
  std::map<std::tuple<uint64_t, uint32_t, uint32_t>, std::vector<uint32_t>> groups;
  for (const Contribution& c : contributions) {
    auto rank =
        static_cast<uint32_t>(std::upper_bound(t.in_base.begin(), t.in_base.end(), c.leaf) - t.in_base.begin() - 1);
    uint32_t within = c.leaf - t.in_base[rank], grid = 0;
    while (within >= t.in_blocks[rank] * t.parts_before[grid + 1]) ++grid;
    groups[{c.count, grid, within - t.in_blocks[rank] * t.parts_before[grid]}].push_back(rank);
  }
  std::vector<std::string> names;
  for (const auto& [key, ranks] : groups) {
    auto [count, grid, place] = key;
    std::string name = fmt::format("{} of {}", bare_name(t, buffers::kIn, grid, place), ranks_name(t, ranks));
    if (count > 1) name += count == 2 ? " (twice)" : fmt::format(" ({} times)", count);
    names.push_back(std::move(name));
  }
  return list_of(names);
}

std::string rule_of(const Contract& c) {
  auto rule = [&]() -> const char* {
    switch (c.kind) {
      case ContractKind::kAllReduce:
        return "every rank's out is the reduction of all ranks' in";
      case ContractKind::kReduce:
        return "the root's out is the reduction of all ranks' in";
      case ContractKind::kBroadcast:
        return "every rank's out is the root's in";
      case ContractKind::kAllGather:
        return "block b of every rank's out is rank b's in";
      case ContractKind::kReduceScatter:
        return "rank r's out is the reduction of block r of all ranks' in";
      case ContractKind::kGather:
        return "block b of the root's out is rank b's in";
      case ContractKind::kScatter:
        return "rank r's out is block r of the root's in";
      case ContractKind::kAllToAll:
      case ContractKind::kAllToAllV:
        return "block b of rank r's out is block r of rank b's in";
      case ContractKind::kSendRecv:
        return "dst's out is src's in";
      case ContractKind::kBarrier:
        return "every rank's token reaches every rank";
      case ContractKind::kCustom:
        return "as it ensures";
    }
    return "";
  };
  return fmt::format("{}: {}", c.name, rule());
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

}  // namespace coll::verifier
