#include "passes/draft.h"

namespace coll {

Locations::Locations(const Draft& draft, uint32_t rank, uint16_t grid) {
  const Contract& c = draft.schedule->contract;
  uint32_t parts = draft.schedule->grids[grid].parts;
  in_ = c.in_blocks(rank) * parts;
  out_ = c.out_blocks(rank) * parts;
  scratch_ = draft.scratch_places[rank];
  shift_ = c.inplace_shift(rank) * static_cast<int64_t>(parts);
  inplace_ = draft.inplace;
}

SourceRange range_of_line(const Schedule& schedule, uint32_t line) {
  return line < schedule.line_ranges.size() ? schedule.line_ranges[line] : SourceRange{};
}

SourceRange range_of_connection(const Draft& draft, uint32_t connection) {
  for (const Message& m : draft.messages) {
    if (m.connection != connection) continue;
    uint32_t action = m.send_action != kNoIndex ? m.send_action : m.receive_action;
    return range_of_line(*draft.schedule, draft.actions[action].line);
  }
  return {};
}

}  // namespace coll
