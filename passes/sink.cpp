// Merges a receive into scratch with the local copy or reduction that alone reads it: the message is then consumed
// where it is needed, and neither scratch nor a second pass over memory is needed.
//
// The receive moves later, to its reader. That keeps the order of messages only if no other message of the same peer is
// received in between.
#include "passes/steps.h"

namespace coll {

void sink_receives(Draft& draft) {
  std::vector<uint32_t> writer, reader_count, only_reader;
  std::vector<uint32_t> next_receive;  // of each action: the next one from the same peer
  std::vector<uint32_t> next_of_peer(draft.ranks(), kNoIndex);
  for (uint32_t rank = 0; rank < draft.ranks(); ++rank) {
    uint32_t begin = draft.rank_begin[rank], end = draft.rank_begin[rank + 1];
    if (begin == end) continue;
    Locations locations(draft, rank, 0);
    writer.assign(locations.count(), kNoIndex);
    reader_count.assign(end - begin, 0);
    only_reader.assign(end - begin, kNoIndex);
    std::vector<uint8_t> split(end - begin, 0);  // some reader takes only a part of what was written
    for (uint32_t index = begin; index < end; ++index) {
      const Action& a = draft.actions[index];
      for (const Operand& source : draft.sources(a)) {
        if (!is_own(source)) continue;
        for (uint32_t i = 0; i < a.length; ++i) {
          uint32_t w = writer[locations.of(source.buffer, source.place + i)];
          if (w == kNoIndex) continue;
          const Operand& to = draft.destinations(draft.actions[w])[0];
          if (to.place != source.place || to.buffer != source.buffer || draft.actions[w].length != a.length)
            split[w - begin] = 1;
          if (only_reader[w - begin] == index && i > 0) continue;
          only_reader[w - begin] = index;
          ++reader_count[w - begin];
        }
      }
      for (const Operand& to : draft.destinations(a)) {
        if (!is_own(to)) continue;
        for (uint32_t i = 0; i < a.length; ++i) writer[locations.of(to.buffer, to.place + i)] = index;
      }
    }
    next_receive.assign(end - begin, kNoIndex);
    for (uint32_t index = end; index-- > begin;) {
      if (draft.actions[index].message_in == kNoIndex) continue;
      uint32_t& next = next_of_peer[draft.messages[draft.actions[index].message_in].source];
      next_receive[index - begin] = next;
      next = index;
    }
    for (uint32_t index = begin; index < end; ++index)
      if (draft.actions[index].message_in != kNoIndex)
        next_of_peer[draft.messages[draft.actions[index].message_in].source] = kNoIndex;
    for (uint32_t index = begin; index < end; ++index) {
      Action& receive = draft.actions[index];
      if (receive.op != Opcode::kRecv || reader_count[index - begin] != 1 || split[index - begin]) continue;
      const Operand to = draft.destinations(receive)[0];
      if (to.buffer != buffers::kScratch) continue;
      uint32_t at = only_reader[index - begin];
      Action& reader = draft.actions[at];
      bool local = reader.op == Opcode::kCopy || (reader.op == Opcode::kReduce && reader.source_count >= 2);
      if (!local || reader.first_part != receive.first_part || reader.grid != receive.grid) continue;
      if (next_receive[index - begin] < at) continue;  // kNoIndex is larger than any
      for (Operand& source : draft.all_operands(reader)) {
        bool it = source.space == Space::kLocal && source.buffer == to.buffer && source.place == to.place;
        if (it && &source < &draft.operands[reader.first_operand + reader.source_count])
          source = {Space::kConnection, 0, receive.message_in, 0};
      }
      reader.op = reader.op == Opcode::kCopy ? Opcode::kRecv : Opcode::kRecvReduce;
      reader.message_in = receive.message_in;
      draft.messages[receive.message_in].receive_action = at;
      receive.removed = true;
    }
  }
}

}  // namespace coll
