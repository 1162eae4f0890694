// Refuses the hints that nothing here can honour. (Channels, lanes and protocols are honoured by the passes that choose
// them.)
#include <fmt/format.h>

#include <set>

#include "passes/diagnostics.h"
#include "passes/steps.h"

namespace coll {

void check_hints(const Schedule& s, bool direct, Diagnostics& diagnostics) {
  std::set<std::pair<uint32_t, uint16_t>> seen;
  for (const ScheduleOp& op : s.ops) {
    const Hint& hint = s.hints[op.hint];
    bool of_connection = hint.channel >= 0 || !hint.protocol.empty();
    bool refused = !hint.via.empty() || !hint.wire.empty() || (direct && of_connection);
    if (!refused || !seen.insert({op.line, op.hint}).second) continue;
    SourceRange range = range_of_line(s, op.line);
    if (direct && of_connection) {
      diagnostics.error(diag::kDirectHint, range,
                        fmt::format("{} cannot be honoured: puts and gets go straight to the peer's memory, without "
                                    "connections",
                                    hint.channel >= 0 ? fmt::format("`on channel {}`", hint.channel)
                                                      : fmt::format("`protocol {}`", hint.protocol)),
                        "leave the hint out, or use staged transfers");
    }
    if (!hint.via.empty()) {
      diagnostics.error(
          diag::kViaHint, range,
          fmt::format("`via {}` cannot be honoured: the machine is not described, so it has no link classes", hint.via),
          "leave the hint out; it is never needed for correctness");
    }
    if (!hint.wire.empty()) {
      diagnostics.error(
          diag::kWireHint, range,
          fmt::format("`wire {}` cannot be honoured: no target of this version compresses messages", hint.wire),
          "leave the hint out; it is never needed for correctness");
    }
  }
}

}  // namespace coll
