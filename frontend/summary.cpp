#include "frontend/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace coll {

PlanSummary summarize(const Plan& plan) {
  PlanSummary s;
  s.instructions = plan.instructions.size();
  s.slots_needed = plan.slots_needed;
  for (uint32_t r = 0; r < plan.ranks(); ++r)
    s.lanes_per_rank_max = std::max(s.lanes_per_rank_max, static_cast<uint32_t>(plan.lanes_of(r).size()));
  std::set<uint32_t> channels;
  std::set<std::string> protocols;
  for (const Connection& c : plan.connections) {
    channels.insert(c.channel);
    protocols.insert(c.protocol);
  }
  s.channels = static_cast<uint32_t>(channels.size());
  s.protocols.assign(protocols.begin(), protocols.end());
  for (uint32_t places : plan.scratch_places) s.scratch_places_max = std::max(s.scratch_places_max, places);
  return s;
}

nlohmann::ordered_json to_json(const PlanSummary& s) {
  return {{"instructions", s.instructions}, {"lanes_per_rank_max", s.lanes_per_rank_max}, {"channels", s.channels},
          {"slots_needed", s.slots_needed}, {"scratch_places_max", s.scratch_places_max}, {"protocols", s.protocols}};
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
    j["bits_equal"] = v.bits_equal;
    if (!v.bits_note.empty()) j["bits_note"] = v.bits_note;
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

nlohmann::ordered_json to_json(const std::vector<PassTime>& times) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const PassTime& t : times) {  // a pass that ran again adds up
    double before = j.contains(t.pass) ? j[t.pass].get<double>() : 0;
    j[t.pass] = before + t.seconds * 1e3;
  }
  return j;
}

std::string proof_line(const VerifyResult& v) {
  std::string text = fmt::format("needs {} slot{}, {}", v.least_slots, v.least_slots == 1 ? "" : "s",
                                 v.exact ? "exact contents" : "contents by fingerprint");
  if (v.bits_equal) return text + ", bits equal on all ranks";
  return v.bits_note.empty() ? text : text + ", bits not equal on all ranks: " + v.bits_note;
}

}  // namespace coll
