// The lowering: Schedule IR -> Plan IR. Read this function to know the compiler.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "passes/diagnostics.h"
#include "passes/draft_print.h"
#include "passes/steps.h"

namespace coll {

namespace {

constexpr uint32_t kLargestByLoad = 1024;  // ranks up to which the whole plan is looked at, unless asked otherwise
constexpr int kMostUndoings = 6;

// Runs, times and shows the passes.
class Passes {
 public:
  explicit Passes(LowerReport* report) : report_(report) {}

  template <class Body, class Print>
  void operator()(const char* name, Body body, Print print) {
    auto start = std::chrono::steady_clock::now();
    body();
    if (report_ == nullptr) return;
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report_->times.push_back({name, took.count()});
    if (report_->after_pass) report_->after_pass(name, print);
  }

 private:
  LowerReport* report_;
};

// Takes fusions back, so that lanes can be assigned once more.
void unfuse(Draft& draft) {
  for (Action& a : draft.actions) {
    a.lane = kNoIndex;
    a.before = 0;
    if (a.fused_send == kNoIndex) continue;
    draft.actions[a.fused_send].removed = false;
    draft.messages[a.message_out].send_action = a.fused_send;
    a.fused_send = a.message_out = kNoIndex;
    a.store = true;
  }
}

// Forbids the fusions at which lanes were stuck. False if there were none.
bool forbid_stuck_fusions(const Plan& plan, const std::vector<uint32_t>& stuck, Draft& draft) {
  // emit writes instructions in the order of the sequence and numbers them so.
  bool any = false;
  for (uint32_t i : stuck) {
    Action& a = draft.actions[draft.sequence[plan.instructions[i].order]];
    if (a.fused_send == kNoIndex) continue;
    a.may_fuse = false;
    any = true;
  }
  return any;
}

}  // namespace

std::optional<Plan> lower(const Schedule& schedule, const LowerOptions& options, Diagnostics& diagnostics,
                          LowerReport* report) {
  Passes pass(report);
  bool whole = schedule.only_rank == kAllRanks;
  bool direct = options.transfers != LowerOptions::Transfers::kStaged;
  bool by_load = whole && options.by_load.value_or(schedule.ranks() <= kLargestByLoad);
  LowerOptions how = options;
  if (direct) how.fuse = false;
  if (direct && !whole) {
    diagnostics.error(
        diag::kDirectPart, {}, "direct transfers cannot be compiled for one rank alone",
        "where a peer may write depends on the peer's part; compile the whole plan or use staged transfers");
    return std::nullopt;
  }

  Draft draft;
  Flow flow;
  Plan plan;
  auto show_draft = [&] { return print_draft(draft); };
  auto show_plan = [&] { return print_plan(plan); };

  // A hint is honoured or refused, never dropped.
  pass("hints", [&] { check_hints(schedule, direct, diagnostics); }, [&] { return print_schedule(schedule); });

  // Statements over all ranks' memory become each rank's actions; `buf` becomes `in`, `out` or scratch.
  pass("resolve", [&] { draft = resolve(schedule, options.switch_hardware && whole, diagnostics); }, show_draft);
  if (diagnostics.has_errors()) return std::nullopt;

  // A receive into scratch that one local action reads is done by that action.
  if (how.fuse) pass("sink", [&] { sink_receives(draft); }, show_draft);

  // Who forwards what: the streams that lanes and channels are chosen for.
  pass("flow", [&] { flow = analyse_flow(draft); }, show_draft);

  // Every message gets a connection.
  pass("channels", [&] { assign_channels(draft, flow, how, by_load && !direct, diagnostics); }, show_draft);

  std::vector<uint32_t> order, stuck;
  for (int undoing = 0;; ++undoing) {
    // Every action gets a lane; sends are fused with the receives that they forward.
    pass("lanes", [&] { assign_lanes(draft, flow, how, diagnostics); }, show_draft);
    if (diagnostics.has_errors()) return std::nullopt;

    // Scratch by lifetime. Lifetimes depend on what was fused, so this works on a copy while fusions may be undone.
    Draft allocated;
    Draft* final_draft = &draft;
    bool may_undo = whole && how.fuse && undoing < kMostUndoings;
    bool has_scratch = false;
    for (uint32_t places : draft.scratch_places) has_scratch |= places > 0;
    if (may_undo && has_scratch) {
      allocated = draft;
      final_draft = &allocated;
    }
    pass("scratch", [&] { allocate_scratch(*final_draft); }, [&] { return print_draft(*final_draft); });

    // Messages become puts or gets, where asked for.
    if (direct) pass("direct", [&] { make_direct(*final_draft, how.transfers); }, show_draft);

    // Dependences between lanes, and the Plan.
    pass("emit", [&] { plan = emit(*final_draft); }, show_plan);
    if (!whole) {
      // How many slots the family needs shows only in the whole plan; this is what it was compiled for.
      plan.slots_needed = std::max(1u, how.slots);
      return plan;
    }

    // Does it run with the target's slots? A fusion at which it does not is undone; program order always runs.
    bool runs = false;
    pass(
        "slots",
        [&] {
          uint32_t least = least_slots(plan, how.slots, order, stuck);
          runs = least != 0;
          plan.slots_needed = std::max(1u, least);
        },
        show_plan);
    if (runs) break;
    if (!how.fuse) break;  // the verifier tells the story
    if (undoing >= kMostUndoings || !forbid_stuck_fusions(plan, stuck, draft)) {
      LowerOptions plain = options;
      plain.fuse = false;
      if (report != nullptr) ++report->undone_fusions;
      return lower(schedule, plain, diagnostics, report);
    }
    unfuse(draft);
    if (report != nullptr) ++report->undone_fusions;
  }
  for (uint32_t n = 0; n < order.size(); ++n) plan.instructions[order[n]].order = n;
  return plan;
}

std::vector<PassInfo> pass_list() {
  return {
      {"hints", "refuses hints that cannot be honoured"},
      {"resolve", "statements over all ranks' memory become each rank's actions; buf becomes in, out or scratch"},
      {"sink", "a receive into scratch moves to the one local action that reads it"},
      {"flow", "finds which sends forward what was received"},
      {"channels", "every message gets a connection: a pair of ranks and a channel"},
      {"lanes", "every action gets a lane; sends are fused with the receives they forward"},
      {"scratch", "virtual scratch becomes real, shared by lifetime"},
      {"direct", "messages become puts or gets with signals and waits (--transfers put|get)"},
      {"emit", "finds dependences between lanes, reduces them by lane clocks, writes the plan"},
      {"slots", "replays the plan for the least number of slots; undoes fusions that need too many"},
  };
}

}  // namespace coll
