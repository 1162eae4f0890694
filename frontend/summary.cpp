#include "frontend/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/units.h"

namespace coll {

PlanSummary summarize(const Plan& plan) {
  PlanSummary s;
  s.instructions = plan.instructions.size();
  if (plan.only_rank == kAllRanks) s.slots_needed = plan.slots_needed;
  for (uint32_t r = 0; r < plan.ranks(); ++r)
    s.lanes_per_rank_max = std::max(s.lanes_per_rank_max, static_cast<uint32_t>(plan.lanes_of(r).size()));
  std::set<std::string> protocols;
  for (const Connection& c : plan.connections) protocols.insert(c.protocol);
  s.channels = plan.channels_per_pair_max();
  s.protocols.assign(protocols.begin(), protocols.end());
  for (uint32_t places : plan.scratch_places) s.scratch_places_max = std::max(s.scratch_places_max, places);
  return s;
}

nlohmann::ordered_json to_json(const PlanSummary& s) {
  nlohmann::ordered_json j = {
      {"instructions", s.instructions}, {"lanes_per_rank_max", s.lanes_per_rank_max}, {"channels", s.channels}};
  if (s.slots_needed) j["slots_needed"] = *s.slots_needed;
  j["scratch_places_max"] = s.scratch_places_max;
  j["protocols"] = s.protocols;
  return j;
}

const char* word(Verdict v) {
  switch (v) {
    case Verdict::kProved:
      return "proved";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kCannotBeJudged:
      return "cannot be judged";
  }
  return "";
}

nlohmann::ordered_json to_json(const VerifyResult& v) {
  nlohmann::ordered_json j = {{"verdict", word(v.verdict)}, {"instructions", v.instructions}};
  if (v.ok()) {
    j["least_slots"] = v.least_slots;
    j["exact"] = v.exact;
    j["bits_shared"] = v.bits_shared;
    if (v.bits_shared) j["bits_equal"] = v.bits_equal;
    if (v.bits_shared && !v.bits_note.empty()) j["bits_note"] = v.bits_note;
    return j;
  }
  j["fault"] = name(v.story.fault);
  auto place = [&](const char* key, uint32_t value) {
    if (value != UINT32_MAX) j[key] = value;
  };
  place("rank", v.story.rank);
  place("lane", v.story.lane);
  place("step", v.story.step);
  j["line"] = v.story.line;
  j["story"] = v.story.lines;
  return j;
}

void put_verdict(nlohmann::ordered_json& object, const VerifyResult& v) {
  nlohmann::ordered_json all = to_json(v);
  for (const char* key : {"verdict", "fault", "story"})
    if (all.contains(key)) object[key] = all[key];
  object["verify"] = std::move(all);
}

nlohmann::ordered_json to_json(const std::vector<PassTime>& times) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const PassTime& t : times) {  // a pass that ran again adds up
    double before = j.contains(t.pass) ? j[t.pass].get<double>() : 0;
    j[t.pass] = before + t.seconds * 1e3;
  }
  return j;
}

std::string proof_line(const VerifyResult& v) {
  std::string text = fmt::format("needs {}, {}", counted(v.least_slots, "slot"),
                                 v.exact ? "exact contents" : "contents by fingerprint");
  if (!v.bits_shared) return text;  // no two ranks hold the same: nothing to compare
  if (v.bits_equal) return text + ", bits equal on all ranks";
  return v.bits_note.empty() ? text : text + ", bits not equal on all ranks: " + v.bits_note;
}

}  // namespace coll
