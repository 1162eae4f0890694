// What the lowering promises beyond being right: few lanes and channels, no filler, one rank's part alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/frontend.h"
#include "ir/plan_text.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {
namespace {

Schedule schedule_of(const std::string& text, uint32_t ranks, uint32_t nodes = 1, uint32_t only_rank = kAllRanks) {
  static std::vector<std::unique_ptr<SourceFile>> files;
  files.push_back(std::make_unique<SourceFile>("test.coll", text));
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> ast = parse(*files.back(), diagnostics);
  ElaborateOptions options;
  options.ranks = ranks;
  options.machine = MachineView::uniform(ranks, nodes);
  options.only_rank = only_rank;
  std::optional<Schedule> schedule;
  if (ast != nullptr) schedule = elaborate(*ast, options, diagnostics);
  EXPECT_TRUE(schedule) << diagnostics.render();
  return *schedule;
}

std::string library_text(const std::string& name) {
  for (const LibraryFile& file : library())
    if (name == file.name) return file.text;
  ADD_FAILURE() << "no " << name;
  return "";
}

Plan lowered(const Schedule& schedule, const LowerOptions& options = {}, LowerReport* report = nullptr) {
  Diagnostics diagnostics;
  std::optional<Plan> plan = lower(schedule, options, diagnostics, report);
  EXPECT_TRUE(plan) << diagnostics.render();
  return *plan;
}

uint32_t most_lanes(const Plan& plan) {
  uint32_t most = 0;
  for (uint32_t r = 0; r < plan.ranks(); ++r) most = std::max<uint32_t>(most, plan.lanes_of(r).size());
  return most;
}

uint32_t channels(const Plan& plan) {
  uint32_t most = 0;
  for (const Connection& c : plan.connections) most = std::max(most, c.channel + 1);
  return most;
}

TEST(Lower, HierarchicalNeedsTwoLanesAndOneChannel) {
  Plan plan = lowered(schedule_of(library_text("hierarchical"), 16, 2));
  EXPECT_LE(most_lanes(plan), 2u);
  EXPECT_EQ(channels(plan), 1u);
  // A lane has one peer to send to and one to receive from.
  TargetLimits limits;
  limits.name = "one peer";
  limits.max_peers_per_lane = 1;
  VerifyOptions options;
  options.limits = limits;
  VerifyResult verdict = verify(plan, options);
  EXPECT_TRUE(verdict.ok()) << render(verdict);
}

TEST(Lower, AllPairsHasNoFiller) {
  Plan plan = lowered(schedule_of(library_text("allpairs"), 8));
  // 8 ranks: 7 sends and 7 receives of each of two phases; a receive may do the send that forwards it.
  EXPECT_LE(plan.instructions.size(), 8u * 28);
  EXPECT_EQ(most_lanes(plan), 7u);
  for (const Instruction& i : plan.instructions) EXPECT_GT(i.source_count + i.destination_count, 0u);
}

TEST(Lower, RingIsOneLaneOfFusedInstructions) {
  for (uint32_t ranks : {2u, 3u, 8u, 33u}) {
    Plan plan = lowered(schedule_of(library_text("ring"), ranks));
    EXPECT_EQ(most_lanes(plan), 1u);
    EXPECT_EQ(plan.instructions.size(), ranks * (2 * ranks - 1));
    EXPECT_EQ(plan.slots_needed, 2u);
    for (uint32_t places : plan.scratch_places) EXPECT_EQ(places, 0u);
  }
}

TEST(Lower, ExchangesNeedNoScratch) {
  // A receive into a tmp that one statement adds is done by that statement.
  Plan plan = lowered(schedule_of(library_text("recursive_doubling"), 8));
  for (uint32_t places : plan.scratch_places) EXPECT_EQ(places, 0u);
}

TEST(Lower, FusionThatNeedsMoreSlotsIsUndone) {
  // a -> r three times, then r -> c, c -> b, r -> b three times: fused, r's sends to b wait for nobody, but b takes
  // them only after what comes by c.
  const char* text = R"(
algorithm long_way implements allreduce {
  chunks 3
  for c in 0 ..< 3 { buf[1][c] += buf[0][c] }
  for c in 0 ..< 3 { buf[2][c] += buf[1][c] }
  for c in 0 ..< 3 { buf[3][c] += buf[2][c] }
  for c in 0 ..< 3 { buf[0][c] = buf[3][c] }
  for c in 0 ..< 3 { buf[1][c] = buf[3][c] }
  for c in 0 ..< 3 { buf[2][c] = buf[1][c] }
}
)";
  for (uint32_t slots : {1u, 2u, 3u, 8u}) {
    LowerOptions options;
    options.slots = slots;
    Plan plan = lowered(schedule_of(text, 4), options);
    EXPECT_LE(plan.slots_needed, slots);
    VerifyOptions verify_options;
    verify_options.slots = slots;
    VerifyResult verdict = verify(plan, verify_options);
    EXPECT_TRUE(verdict.ok()) << render(verdict);
    EXPECT_EQ(verdict.least_slots, plan.slots_needed);
  }
}

TEST(Lower, RingRunsWithOneSlotWhenAskedTo) {
  LowerOptions options;
  options.slots = 1;
  LowerReport report;
  Plan plan = lowered(schedule_of(library_text("ring"), 8), options, &report);
  EXPECT_EQ(plan.slots_needed, 1u);
  EXPECT_GT(report.undone_fusions, 0u);
  VerifyOptions verify_options;
  verify_options.slots = 1;
  EXPECT_TRUE(verify(plan, verify_options).ok());
}

TEST(Lower, InstancesAreAnAttribute) {
  std::string text = library_text("ring");
  size_t at = text.find("chunks ranks");
  ASSERT_NE(at, std::string::npos);
  text.insert(at, "instances 4\n  ");
  Plan plan = lowered(schedule_of(text, 4));
  EXPECT_EQ(plan.instances, 4u);
  EXPECT_EQ(plan.instructions.size(), 4u * 7);
}

TEST(Lower, SwitchDoesStatementsOverAllRanks) {
  Schedule schedule = schedule_of(library_text("in_switch"), 4);
  LowerOptions options;
  options.switch_hardware = true;
  Plan with = lowered(schedule, options), without = lowered(schedule);
  auto count = [](const Plan& plan, Opcode op) {
    return std::count_if(plan.instructions.begin(), plan.instructions.end(),
                         [&](const Instruction& i) { return i.op == op; });
  };
  EXPECT_EQ(count(with, Opcode::kMulticast), 4);
  EXPECT_EQ(count(with, Opcode::kSwitchReduce), 4);
  EXPECT_TRUE(with.connections.empty());
  EXPECT_EQ(count(without, Opcode::kMulticast), 0);
  EXPECT_FALSE(without.connections.empty());
  for (const Plan* plan : {&with, &without}) {
    VerifyResult verdict = verify(*plan);
    EXPECT_TRUE(verdict.ok()) << render(verdict) << print_plan(*plan);
  }
}

TEST(Lower, ReadingInputsInTheSwitchAfterTheirPlaceWasWrittenIsNotInPlace) {
  Schedule schedule =
      schedule_of("algorithm each implements allreduce { for r in 0 ..< ranks { out[r][0] = reduce(in[all][0]) } }", 3);
  for (bool in_switch : {false, true}) {
    LowerOptions options;
    options.switch_hardware = in_switch;
    Plan plan = lowered(schedule, options);
    EXPECT_FALSE(plan.inplace);
    VerifyResult verdict = verify(plan);
    EXPECT_TRUE(verdict.ok()) << render(verdict);
  }
}

// The lines of one rank's block in a plan's text, with what differs between a whole plan and a part taken out:
// connection numbers become "source>destination/channel", witness numbers go.
std::string block_of(const Plan& plan, uint32_t rank) {
  std::string out = fmt::format("scratch {}\n", plan.scratch_places[rank]);
  for (const Lane& lane : plan.lanes_of(rank)) {
    out += "lane\n";
    for (uint32_t n = lane.first; n < lane.first + lane.count; ++n) {
      const Instruction& i = plan.instructions[n];
      out += fmt::format("{} part {} length {}", info(i.op).mnemonic, i.first_part, i.length);
      auto add = [&](const Operand& o) {
        if (o.space == Space::kConnection) {
          const Connection& c = plan.connections[o.rank];
          out += fmt::format(" {}>{}/{}", c.source, c.destination, c.channel);
        } else {
          out += fmt::format(" {}[{}]", o.buffer, o.place);
        }
      };
      for (const Operand& o : plan.sources(i)) add(o);
      out += " ->";
      for (const Operand& o : plan.destinations(i)) add(o);
      for (const After& a : plan.afters(i)) out += fmt::format(" after {}.{}", a.lane, a.step);
      out += "\n";
    }
  }
  return out;
}

TEST(Lower, OneRanksPartIsThatOfTheWholePlan) {
  struct Case {
    const char* name;
    uint32_t ranks, nodes;
  };
  for (const Case& c :
       {Case{"ring", 7, 1}, Case{"allpairs", 5, 1}, Case{"hierarchical", 8, 2}, Case{"double_tree", 9, 1},
        Case{"halving_doubling", 11, 1}, Case{"bruck_alltoall", 6, 1}, Case{"ring_reduce_scatter", 5, 1},
        Case{"allgather_recursive_doubling", 8, 1}, Case{"binomial_gather", 7, 1}, Case{"pat_allgather", 13, 1},
        Case{"binomial_scatter", 9, 1}, Case{"swing", 8, 1}}) {
    LowerOptions options;
    options.by_load = false;
    Plan whole = lowered(schedule_of(library_text(c.name), c.ranks, c.nodes), options);
    for (uint32_t rank = 0; rank < c.ranks; ++rank) {
      Plan part = lowered(schedule_of(library_text(c.name), c.ranks, c.nodes, rank), options);
      EXPECT_EQ(part.only_rank, rank);
      EXPECT_EQ(part.family_hash, whole.family_hash);
      EXPECT_EQ(block_of(part, rank), block_of(whole, rank)) << c.name << " rank " << rank;
    }
  }
}

TEST(Lower, TheSameInputGivesTheSameBytes) {
  for (const LibraryFile& file : library()) {
    std::string name = file.name;
    if (name == "sendrecv" || name == "sendrecv_ring") continue;
    std::string first = print_plan(lowered(schedule_of(file.text, 8, 2)));
    EXPECT_EQ(print_plan(lowered(schedule_of(file.text, 8, 2))), first) << name;
  }
}

}  // namespace
}  // namespace coll
