#pragma once
// The steps of the lowering, in the order of pipeline.cpp. Each says what it needs and what it guarantees.
#include "ir/plan.h"
#include "ir/support/diagnostic.h"
#include "passes/draft.h"
#include "passes/lower.h"

namespace coll {

// hints.cpp. Reports hints that cannot be honoured, with the reason.
void check_hints(const Schedule&, bool direct, Diagnostics&);

// resolve.cpp. Needs a Schedule. Gives actions in program order: sends, receives and local work of each rank, messages
// without connections, virtual scratch. With `in_switch`, statements over all ranks that a switch can do become
// multicasts and in-switch reductions.
Draft resolve(const Schedule&, bool in_switch, Diagnostics&);

// What reads what, within a rank. Indices are into Draft::actions.
struct Flow {
  // For every action: the send that forwards exactly what it wrote, as (writer, send) pairs in order of the send.
  std::vector<std::pair<uint32_t, uint32_t>> forwards;
  std::vector<uint32_t> uses;     // actions that read what this action wrote
  std::vector<uint8_t> live_out;  // something it wrote is an output at the end
  std::vector<uint32_t> ready;    // position + 1 of the last writer of what it reads; 0: it reads inputs only
};

// flow.cpp. Needs actions in program order.
Flow analyse_flow(const Draft&);

// sink.cpp. Merges a receive into scratch with the one local copy or reduction that reads it.
void sink_receives(Draft&);

// channels.cpp. Gives every message a connection.
void assign_channels(Draft&, const Flow&, const LowerOptions&, bool by_load, Diagnostics&);

// lanes.cpp. Gives every action a lane and every connection its two lanes; fuses receives (and reductions) with the
// sends that forward them, where both ends share a lane and message order stays. Fills Draft::sequence.
void assign_lanes(Draft&, const Flow&, const LowerOptions&, Diagnostics&);

// direct.cpp. Replaces messages by puts or gets with signals and waits. Needs unfused actions with lanes; makes the
// sequence anew.
void make_direct(Draft&, LowerOptions::Transfers);

// scratch.cpp. Virtual scratch places become real ones, shared where lifetimes allow it at no cost.
void allocate_scratch(Draft&);

// emit.cpp. Finds dependences between lanes of a rank, reduced transitively by lane clocks, and writes the Plan.
Plan emit(const Draft&);

// slots.cpp. Replays the plan with k slots. Returns true and, in `order`, the order in which instructions ran; or
// false and the instructions at which lanes were stuck.
bool replay(const Plan&, uint32_t slots, std::vector<uint32_t>& order, std::vector<uint32_t>& stuck);

// The least k <= most with which the plan runs, and the order then; 0 if there is none (then `stuck` is that of
// `most`).
uint32_t least_slots(const Plan&, uint32_t most, std::vector<uint32_t>& order, std::vector<uint32_t>& stuck);

}  // namespace coll
