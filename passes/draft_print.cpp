#include "passes/draft_print.h"

#include <fmt/format.h>

namespace coll {

namespace {

std::string print(const Draft& draft, const Operand& o, uint32_t length) {
  static const char* kBuffers[] = {"in", "out", "scratch"};
  std::string places = length == 1 ? fmt::format("{}", o.place) : fmt::format("{}+{}", o.place, length);
  switch (o.space) {
    case Space::kLocal:
      return fmt::format("{}[{}]", kBuffers[o.buffer], places);
    case Space::kPeer:
      return fmt::format("{}[{}]@r{}", kBuffers[o.buffer], places, o.rank);
    case Space::kGroup:
      return fmt::format("{}[{}]@g{}", kBuffers[o.buffer], places, o.rank);
    case Space::kConnection: {
      const Message& m = draft.messages[o.rank];
      std::string channel =
          m.connection == kNoIndex ? "" : fmt::format(" channel {}", draft.connections[m.connection].channel);
      return fmt::format("message {} ({} -> {}{})", o.rank, m.source, m.destination, channel);
    }
  }
  return "?";
}

}  // namespace

std::string print_draft(const Draft& draft) {
  std::string out =
      fmt::format("draft of {}, {} ranks, {} messages, {} connections{}\n", draft.schedule->name, draft.ranks(),
                  draft.messages.size(), draft.connections.size(), draft.inplace ? ", inplace" : "");
  for (uint32_t rank = 0; rank < draft.ranks(); ++rank) {
    out += fmt::format("rank {} scratch {}\n", rank, draft.scratch_places[rank]);
    for (uint32_t i = draft.rank_begin[rank]; i < draft.rank_begin[rank + 1]; ++i) {
      const Action& a = draft.actions[i];
      if (a.removed) continue;
      out += fmt::format("  @{}", a.position);
      if (a.lane != kNoIndex) out += fmt::format(" lane {}", a.lane);
      out += fmt::format(" {}", info(a.op).mnemonic);
      const char* separator = " ";
      for (const Operand& o : draft.sources(a)) {
        out += separator + print(draft, o, a.length);
        separator = ", ";
      }
      separator = " -> ";
      for (const Operand& o : draft.destinations(a)) {
        if (o.space == Space::kLocal && a.fused_send != kNoIndex && !a.store) continue;
        out += separator + print(draft, o, a.length);
        separator = ", ";
      }
      if (a.fused_send != kNoIndex)
        out += separator + print(draft, {Space::kConnection, 0, a.message_out, 0}, a.length);
      if (a.op == Opcode::kSignal || a.op == Opcode::kWait)
        out += fmt::format(" {}", draft.counters[a.counter].name) +
               (a.op == Opcode::kWait ? fmt::format(" >= {}", a.value) : "");
      out += "  " + draft.schedule->lines.describe(a.line) + "\n";
    }
  }
  return out;
}

}  // namespace coll
