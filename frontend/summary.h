#pragma once
// What several verbs say of a plan.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {

struct PlanSummary {
  uint64_t instructions = 0;
  uint32_t lanes_per_rank_max = 0;
  uint32_t channels = 0;                 // different channel numbers
  std::optional<uint32_t> slots_needed;  // of a whole plan: one rank's part says only what it was compiled for
  uint32_t scratch_places_max = 0;
  std::vector<std::string> protocols;  // of connections, each once
};
PlanSummary summarize(const Plan&);

nlohmann::ordered_json to_json(const PlanSummary&);
nlohmann::ordered_json to_json(const VerifyResult&);
nlohmann::ordered_json to_json(const std::vector<PassTime>&);  // milliseconds by pass
const char* word(Verdict);

// The verdict on a plan and, if it is no, the story, under the same keys as in a result of `check`; all that is known
// under "verify".
void put_verdict(nlohmann::ordered_json&, const VerifyResult&);

// One line: what is known of a proved plan.
std::string proof_line(const VerifyResult&);

}  // namespace coll
