// The readers of plan and schedule text: whatever comes in, they answer; a refusal says why and where; what they let
// through prints back to itself and indexes nothing that is not there. Small plans that were let through go on to the
// verifier, which must answer too, and what it proves must compute what the contract defines.
#include <algorithm>
#include <cstring>

#include "ir/interpret.h"
#include "ir/opcode_shape.h"
#include "ir/plan_text.h"
#include "ir/verify.h"
#include "tests/fuzz/fuzz_driver.h"

namespace coll {
namespace {

std::string refusal(const SourceFile& file, const Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) return "refused without a diagnostic";
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.range.file != &file || d.range.begin > file.text().size())
      return "a diagnostic without a place: " + d.message;
    if (d.message.empty()) return "a diagnostic that says nothing";
  }
  if (diagnostics.render().empty()) return "a refusal that renders to nothing";
  return {};
}

// Of a size that verifier and interpreter answer for in milliseconds.
bool is_small(const Plan& plan) {
  if (plan.ranks() > 16 || plan.instances > 8 || plan.instructions.size() > 500) return false;
  uint64_t places = 0, moved = 0;
  for (uint32_t r = 0; r < plan.ranks(); ++r)
    for (uint16_t grid = 0; grid < plan.grids.size(); ++grid)
      for (uint16_t b = 0; b <= buffers::kScratch; ++b) places += plan.places(r, b, grid);
  for (const Instruction& i : plan.instructions) moved += i.length;
  return places <= 10000 && moved <= 10000;
}

std::string run_proved(const Plan& plan) {
  // Wrapping integers: exact in any order. The count divides by nothing, and a slot holds few of them.
  constexpr uint64_t kCount = 41;
  uint32_t ranks = plan.ranks();
  CallSpec spec;
  spec.sizes = {kCount, DType::kI32, {}};
  spec.slot_bytes = 32;
  if (plan.contract.kind == ContractKind::kAllToAllV)
    for (uint32_t i = 0; i < ranks * ranks; ++i) spec.sizes.counts.push_back(i * 7 % 23);
  std::vector<std::vector<int32_t>> in(ranks), out(ranks);
  std::vector<RankBuffers> calls(ranks);
  std::vector<const void*> ins;
  for (uint32_t r = 0; r < ranks; ++r) {
    in[r].resize(1 + block_offset(plan.contract, spec.sizes, false, r, plan.contract.in_blocks(r)));
    out[r].assign(1 + block_offset(plan.contract, spec.sizes, true, r, plan.contract.out_blocks(r)), -1);
    for (size_t i = 0; i < in[r].size(); ++i) in[r][i] = static_cast<int32_t>(r * 1000003u + i * 7919u + 12345u);
    calls[r] = {in[r].data(), out[r].data()};
    ins.push_back(in[r].data());
  }
  if (Status s = interpret(plan, spec, calls); !s.ok()) return "a proved plan does not run: " + s.message();
  for (uint32_t r = 0; r < ranks; ++r) {
    std::vector<int32_t> expected(out[r].size(), -1);
    std::vector<double> bound;
    Status s = contract_result(plan.contract, spec, r, ins, expected.data(), &bound);
    if (!s.ok()) return "the contract has no result: " + s.message();
    for (size_t i = 0; i < bound.size(); ++i)
      if (bound[i] == 0 && out[r][i] != expected[i])
        return "a proved plan computes another result: rank " + std::to_string(r) + " element " + std::to_string(i);
  }
  return {};
}

std::string check_verdict(const Plan& plan) {
  VerifyResult result = verify(plan);
  if (render(result).empty()) return "a verdict that renders to nothing";
  if (result.ok()) return run_proved(plan);
  return result.story.lines.empty() ? "a refusal by the verifier without a story" : "";
}

std::string check_plan(const Plan& plan) {
  for (const Lane& lane : plan.lanes)
    for (uint32_t s = 0; s < lane.count; ++s)
      if (const char* why = shape_error(plan, lane.rank, plan.instructions[lane.first + s]))
        return std::string("accepted an instruction with ") + why;
  std::string text = print_plan(plan);
  SourceFile again("printed", text);
  Diagnostics diagnostics;
  std::optional<Plan> back = parse_plan(again, diagnostics);
  if (!back) return "its own print is refused: " + diagnostics.render();
  if (print_plan(*back) != text) return "print, read, print gives other bytes";
  return is_small(plan) ? check_verdict(plan) : "";
}

std::string check_schedule(const Schedule& schedule) {
  std::string text = print_schedule(schedule);
  SourceFile again("printed", text);
  Diagnostics diagnostics;
  std::optional<Schedule> back = parse_schedule(again, diagnostics);
  if (!back) return "its own print is refused: " + diagnostics.render();
  return print_schedule(*back) == text ? "" : "print, read, print gives other bytes";
}

FuzzOutcome check(const std::string& name, const std::string& text) {
  SourceFile file(name, text);
  Diagnostics diagnostics;
  if (name.ends_with(".schedule")) {
    std::optional<Schedule> schedule = parse_schedule(file, diagnostics);
    if (!schedule) return {false, refusal(file, diagnostics)};
    return {true, diagnostics.has_errors() ? "accepted with errors" : check_schedule(*schedule)};
  }
  std::optional<Plan> plan = parse_plan(file, diagnostics);
  if (!plan) return {false, refusal(file, diagnostics)};
  return {true, diagnostics.has_errors() ? "accepted with errors" : check_plan(*plan)};
}

}  // namespace
}  // namespace coll

int main(int argc, char** argv) { return coll::fuzz_main(argc, argv, coll::check); }
