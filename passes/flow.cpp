// Which action reads what another wrote, rank by rank, in program order.
#include <algorithm>

#include "passes/steps.h"

namespace coll {

Flow analyse_flow(const Draft& draft) {
  Flow flow;
  flow.uses.assign(draft.actions.size(), 0);
  flow.live_out.assign(draft.actions.size(), 0);
  flow.ready.assign(draft.actions.size(), 0);
  std::vector<uint32_t> last_user(draft.actions.size(), kNoIndex);
  std::vector<uint32_t> writer;  // of each location: the last action that wrote it
  for (uint32_t rank = 0; rank < draft.ranks(); ++rank) {
    if (draft.rank_begin[rank] == draft.rank_begin[rank + 1]) continue;
    Locations locations(draft, rank, 0);
    writer.assign(locations.count(), kNoIndex);
    for (uint32_t index = draft.rank_begin[rank]; index < draft.rank_begin[rank + 1]; ++index) {
      const Action& a = draft.actions[index];
      if (a.removed) continue;
      for (const Operand& source : draft.sources(a)) {
        if (!is_own(source)) continue;
        uint32_t first_writer = kNoIndex;
        bool same = true;
        for (uint32_t i = 0; i < a.length; ++i) {
          uint32_t w = writer[locations.of(source.buffer, source.place + i)];
          if (i == 0) first_writer = w;
          same &= w == first_writer;
          if (w == kNoIndex) continue;
          flow.ready[index] = std::max(flow.ready[index], draft.actions[w].position + 1);
          if (last_user[w] == index) continue;
          last_user[w] = index;
          ++flow.uses[w];
        }
        if (a.op != Opcode::kSend || !same || first_writer == kNoIndex) continue;
        const Action& w = draft.actions[first_writer];
        const Operand& to = draft.destinations(w)[0];
        bool exactly = w.length == a.length && w.first_part == a.first_part && w.grid == a.grid &&
                       to.buffer == source.buffer && to.place == source.place;
        bool can = w.op == Opcode::kRecv || w.op == Opcode::kRecvReduce || w.op == Opcode::kReduce;
        if (exactly && can) flow.forwards.emplace_back(first_writer, index);
      }
      for (const Operand& to : draft.destinations(a)) {
        if (!is_own(to)) continue;
        for (uint32_t i = 0; i < a.length; ++i) writer[locations.of(to.buffer, to.place + i)] = index;
      }
    }
    for (uint32_t l = 0; l < locations.count(); ++l)
      if (locations.is_out(l) && writer[l] != kNoIndex) flow.live_out[writer[l]] = 1;
  }
  return flow;
}

}  // namespace coll
