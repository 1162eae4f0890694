// The verifier: a list of named steps. What each one checks is in the head of its file; here is why one symbolic run
// speaks for every size, every timing, every number of slots from the least on, and every sequence of calls.
//
// Timing. A connection has one sending and one receiving lane, a counter one signaller and one waiter and it only
// grows, and control flow never reads data. So an instruction that can act stays able to until it does, and acting in
// one lane never disables another: the plan is a deterministic process network. All maximal runs act the same
// instructions and match the same messages, so one run tells whether all end. The structure check refuses to judge
// plans that break the premises. That the *contents* do not depend on timing either is what the race check adds: any
// two conflicting accesses are ordered the same way in every run, so every read sees the same write.
//
// Tiles. The tile loop is the outermost of every lane. Tile t of a place is elements [t tile, (t+1) tile) of it in
// every instruction that touches it, so two tiles touch disjoint elements and no data passes between them. Messages
// and signals balance within a tile (checked), so running tile after tile is a possible run, and if one tile ends, all
// do. Happens-before edges inside a tile are there in every tile. So one tile is run, and it has no size: extents are
// compared as "part q of grid g" for every count. An empty message is sent by neither end; dropping a message from
// both ends only weakens what others wait for.
//
// Slots. Races are judged with unlimited slots, because a freed slot is no ordering. Deadlock is judged at k slots;
// a run with k slots is also one with k + 1, so the verdict holds for all larger k.
//
// Calls. Without direct accesses only a rank's own lanes touch its memory, and its next call begins when they have all
// ended: calls do not meet, and connections are empty in between. With direct accesses a fast rank's next call meets a
// slow rank's last; races are therefore judged over several calls in a row. Edges between calls run from the end of a
// call to the begin of the next on the same rank only, so two calls would do: a conflict between calls c and c + 2 is
// one between c and c + 1 and the calls of the later rank in between. Contents need one call: scratch counts as
// unwritten at its start, so a read that could see an older call's data is refused, and without races every read sees
// the same write in every call. Counters keep their values: a wait for v in a tile means v more than all tiles before
// have signalled.
//
// In place. `in` and `out` are kept apart, and whatever would differ if they were the same memory is refused; so the
// one run covers both ways of calling.
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/verify_replay.h"
#include "ir/verify_story.h"
#include "ir/verify_tables.h"
#include "ir/verify_witness.h"

namespace coll {

namespace {

using namespace verifier;

// The interpreter runs instructions in the order of the witness, so it must be one: no instruction before what it
// waits for. (Foreign plans and mutants get theirs from assign_witness.)
bool check_witness(const Tables& t, VerifyResult& result) {
  const auto& instructions = t.plan.instructions;
  auto wrong = [&](uint32_t i, uint32_t needs) {
    return refuse_at(t, result, Fault::kMalformed, i,
                     {fmt::format("the plan's witness order has {} at {} and {}, which must come first, at {}",
                                  who(t, i), instructions[i].order, who(t, needs), instructions[needs].order)});
  };
  std::vector<bool> seen(instructions.size(), false);
  for (uint32_t i = 0; i < t.size(); ++i) {
    uint32_t order = instructions[i].order;
    if (order < seen.size() && !seen[order]) {
      seen[order] = true;
    } else {
      return refuse_at(t, result, Fault::kMalformed, i,
                       {fmt::format("{} has position {} of the witness order, which is not one of its own among {}",
                                    who(t, i), order, t.size())});
    }
    if (t.step_of(i) > 0 && instructions[i - 1].order > order) return wrong(i, i - 1);
    if (t.partner[i] != kNone && instructions[t.partner[i]].order > order) return wrong(i, t.partner[i]);
    for (const After& a : t.plan.afters(instructions[i])) {
      uint32_t target = t.target(t.rank_of(i), a);
      if (instructions[target].order > order) return wrong(i, target);
    }
  }
  return true;
}

bool check_slots(Replay& replay, const VerifyOptions& options, VerifyResult& result) {
  uint32_t slots = std::max(1u, options.slots);
  if (options.find_least_slots) result.least_slots = replay.least_slots();
  bool runs = options.find_least_slots ? result.least_slots <= slots : replay.run(slots);
  if (runs) return true;
  if (result.least_slots == 0) result.least_slots = replay.least_slots();
  replay.run(slots);
  replay.tell_deadlock(slots, result);
  result.story.lines.push_back(fmt::format("with {} slot{} per connection it stops; it runs with {} or more", slots,
                                           slots == 1 ? "" : "s", result.least_slots));
  return false;
}

}  // namespace

const char* name(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kMalformed:
      return "malformed";
    case Fault::kWritesIn:
      return "writes in";
    case Fault::kConnectionShared:
      return "connection shared";
    case Fault::kCounterShared:
      return "counter shared";
    case Fault::kUnbalanced:
      return "unbalanced";
    case Fault::kMessageMismatch:
      return "message mismatch";
    case Fault::kDeadlock:
      return "deadlock";
    case Fault::kRace:
      return "race";
    case Fault::kUnwritten:
      return "unwritten";
    case Fault::kWrong:
      return "wrong";
    case Fault::kMissing:
      return "missing";
    case Fault::kDuplicated:
      return "duplicated";
    case Fault::kDoesNotFit:
      return "does not fit";
    case Fault::kInPlace:
      return "in place";
    case Fault::kAccessAfterExit:
      return "access after exit";
    case Fault::kLimit:
      return "limit";
  }
  return "unknown";
}

VerifyResult verify(const Plan& plan, const VerifyOptions& options) {
  VerifyResult result;
  result.instructions = plan.instructions.size();
  Tables tables(plan);
  if (!check_structure(tables, options, result)) return result;

  Replay replay(tables);
  std::vector<uint32_t> order;  // one run, with unlimited slots: which instruction acted when
  if (!replay.run(Replay::kUnlimited, &order)) {
    replay.tell_deadlock(Replay::kUnlimited, result);
    result.story.lines.push_back("it stops with any number of slots");
    return result;
  }
  if (!check_races(tables, order, options.calls, result)) return result;
  if (!check_contents(tables, order, options, result)) return result;
  if (!check_slots(replay, options, result)) return result;
  if (!check_witness(tables, result)) return result;
  result.verdict = Verdict::kProved;
  return result;
}

bool assign_witness(Plan& plan, uint32_t slots) {
  Tables tables(plan);
  VerifyResult result;
  if (!check_structure(tables, {}, result)) return false;
  Replay replay(tables);
  std::vector<uint32_t> order;
  if (!replay.run(slots, &order)) return false;
  for (uint32_t p = 0; p < order.size(); ++p) plan.instructions[order[p]].order = p;
  return true;
}

std::string render(const VerifyResult& result) {
  std::string text;
  if (result.verdict == Verdict::kProved) {
    text = fmt::format("proved: {} instructions, contents {}", result.instructions,
                       result.exact ? "exact" : "as 128-bit fingerprints");
    if (result.bits_shared) text += result.bits_equal ? ", bits equal on all ranks" : ", bits may differ between ranks";
    if (result.least_slots > 0)
      text += fmt::format(", runs with {} slot{} per connection or more", result.least_slots,
                          result.least_slots == 1 ? "" : "s");
    text += '\n';
    if (result.peers_read_in) text += "  a peer reads raw `in`: premul needs the owner's factor there\n";
    if (result.bits_shared && !result.bits_note.empty()) text += fmt::format("  {}\n", result.bits_note);
    return text;
  }
  text = fmt::format("{}: {}{}\n", result.verdict == Verdict::kRefused ? "refused" : "cannot be judged",
                     name(result.story.fault), result.story.line.empty() ? "" : " at " + result.story.line);
  for (const std::string& line : result.story.lines) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace coll
