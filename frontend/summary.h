#pragma once
// What several verbs say of a plan.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {

struct PlanSummary {
  uint64_t instructions = 0;
  uint32_t lanes_per_rank_max = 0;
  uint32_t channels = 0;  // different channel numbers
  uint32_t slots_needed = 0;
  uint32_t scratch_places_max = 0;
  std::vector<std::string> protocols;  // of connections, each once
};
PlanSummary summarize(const Plan&);

nlohmann::ordered_json to_json(const PlanSummary&);
nlohmann::ordered_json to_json(const VerifyResult&);
nlohmann::ordered_json to_json(const std::vector<PassTime>&);  // milliseconds by pass
const char* word(Verdict);

// One line: what is known of a proved plan.
std::string proof_line(const VerifyResult&);

}  // namespace coll
