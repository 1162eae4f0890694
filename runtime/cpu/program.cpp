#include "runtime/cpu/program.h"

#include <algorithm>
#include <cstdlib>

namespace coll {

namespace {

bool ranges_cross(int64_t a, int64_t b, uint32_t length) {
  return a != b && std::llabs(a - b) < static_cast<int64_t>(length);
}

// Sets the overlap flags: place i + d of a destination is place i of a source, d other than 0.
void find_overlaps(const Plan& plan, uint32_t rank, const Instruction& instruction, Step& step) {
  if (instruction.length < 2) return;
  int64_t shift = plan.contract.inplace_shift(rank) * plan.grids[instruction.grid].parts;
  for (const Operand& s : plan.sources(instruction)) {
    if (s.space != Space::kLocal) continue;
    for (const Operand& d : plan.destinations(instruction)) {
      if (d.space != Space::kLocal) continue;
      if (s.buffer == d.buffer && ranges_cross(s.place, d.place, instruction.length)) step.overlaps = true;
      if (s.buffer == buffers::kIn && d.buffer == buffers::kOut &&
          ranges_cross(static_cast<int64_t>(s.place) + shift, d.place, instruction.length))
        step.overlaps_in_place = true;
    }
  }
}

}  // namespace

Program resolve(const Plan& plan, const Layout& layout, uint32_t rank, const std::vector<Share>& shares) {
  Program program;
  program.instances = plan.instances;
  program.tile_elements = layout.tiling().tile_elements;
  program.tiles = layout.tiling().tiles;

  for (const Lane& lane : plan.lanes_of(rank)) {
    for (uint32_t index = lane.first; index < lane.first + lane.count; ++index) {
      const Instruction& instruction = plan.instructions[index];
      Step step;
      step.instruction = index;
      step.op = instruction.op;
      step.reduces = info(instruction.op).reduces;
      bool moves = instruction.op != Opcode::kSignal && instruction.op != Opcode::kWait;
      step.length = moves ? instruction.length : 0;
      find_overlaps(plan, rank, instruction, step);

      step.first_length = program.lengths.size();
      for (uint32_t i = 0; i < step.length; ++i)
        for (uint32_t n = 0; n < plan.instances; ++n)
          program.lengths.push_back(layout.place_elements(rank, instruction, i, n));

      auto add = [&](const Operand& o, uint32_t owner) {
        MemoryRef ref{owner, o.buffer, false, program.begins.size()};
        for (uint32_t i = 0; i < step.length; ++i)
          for (uint32_t n = 0; n < plan.instances; ++n)
            program.begins.push_back(layout.offset(owner, instruction, o, i, 0, n));
        program.refs.push_back(ref);
      };
      auto add_memory = [&](const Operand& o) {
        if (o.space == Space::kGroup)
          for (uint32_t member : plan.groups[o.rank].ranks) add(o, member);
        else
          add(o, o.space == Space::kPeer ? o.rank : rank);
      };

      const Share& share = shares[index];
      uint8_t operand = 0;
      step.first_source = static_cast<uint32_t>(program.refs.size());
      for (const Operand& o : plan.sources(instruction)) {
        if (o.space == Space::kConnection) {
          step.takes = o.rank;
          MemoryRef message;
          message.is_message = true;
          program.refs.push_back(message);
        } else {
          if (operand == share.operand) step.shared_ref = static_cast<uint32_t>(program.refs.size());
          add_memory(o);
        }
        ++operand;
      }
      step.sources = static_cast<uint32_t>(program.refs.size()) - step.first_source;
      step.first_destination = static_cast<uint32_t>(program.refs.size());
      for (const Operand& o : plan.destinations(instruction)) {
        if (o.space == Space::kConnection) {
          step.gives = o.rank;
        } else {
          if (operand == share.operand) step.shared_ref = static_cast<uint32_t>(program.refs.size());
          add_memory(o);
        }
        ++operand;
      }
      step.destinations = static_cast<uint32_t>(program.refs.size()) - step.first_destination;
      step.shared_in_place = share.in_place;
      step.final_store = share.final_store;

      // A message of several places is one run of memory only if they follow each other without a gap.
      if (step.shared_ref != Step::kNone && step.length > 1) {
        uint64_t first = program.refs[step.shared_ref].first_begin;
        bool one_run = program.tiles == 1;
        for (uint32_t n = 0; n < plan.instances; ++n)
          for (uint32_t i = 0; i + 1 < step.length; ++i) {
            uint64_t at = static_cast<uint64_t>(i) * plan.instances + n;
            one_run = one_run && program.begins[first + at] + program.lengths[step.first_length + at] ==
                                     program.begins[first + at + plan.instances];
          }
        if (!one_run) step.shared_ref = Step::kNone;
      }
      program.steps.push_back(step);
    }
  }
  return program;
}

}  // namespace coll
