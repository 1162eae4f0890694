#include "runtime/cpu/message_order.h"

#include <algorithm>

namespace coll {

namespace {

bool same_extents(const Instruction& a, const Instruction& b) {
  return a.grid == b.grid && a.first_part == b.first_part && a.length == b.length;
}

}  // namespace

MessageOrder::MessageOrder(const Plan& plan)
    : plan_(plan),
      lane_of_(plan.instructions.size()),
      sender_(plan.instructions.size(), kNone),
      receiver_(plan.instructions.size(), kNone),
      signals_(plan.counters.size()) {
  // A connection has one sending and one receiving lane, so lane order is message order.
  std::vector<std::vector<uint32_t>> sent(plan.connections.size()), received(plan.connections.size());
  for (uint32_t l = 0; l < plan.lanes.size(); ++l) {
    for (uint32_t i = plan.lanes[l].first; i < plan.lanes[l].first + plan.lanes[l].count; ++i) {
      const Instruction& instruction = plan.instructions[i];
      lane_of_[i] = l;
      if (instruction.op == Opcode::kSignal) signals_[instruction.counter].push_back(i);
      for (const Operand& o : plan.sources(instruction))
        if (o.space == Space::kConnection) received[o.rank].push_back(i);
      for (const Operand& o : plan.destinations(instruction))
        if (o.space == Space::kConnection) sent[o.rank].push_back(i);
    }
  }
  for (size_t c = 0; c < sent.size(); ++c)
    for (size_t m = 0; m < std::min(sent[c].size(), received[c].size()); ++m) {
      sender_[received[c][m]] = sent[c][m];
      receiver_[sent[c][m]] = received[c][m];
    }
}

bool MessageOrder::consumed_before(uint32_t send, uint32_t later) const {
  uint32_t consumer = receiver_[send];
  if (consumer == kNone) return false;
  size_t budget = 4 * plan_.ranks() + 64;
  std::vector<uint32_t> seen, stack = {later};
  while (!stack.empty() && seen.size() < budget) {
    uint32_t at = stack.back();
    stack.pop_back();
    if (lane_of_[at] == lane_of_[consumer] && at >= consumer && at != later) return true;
    if (plan_.instructions[at].order <= plan_.instructions[consumer].order) continue;
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
    seen.push_back(at);
    // The most promising last, to be looked at first: the message just read.
    const Instruction& instruction = plan_.instructions[at];
    const Lane& lane = plan_.lanes[lane_of_[at]];
    if (at > lane.first) stack.push_back(at - 1);
    for (const After& after : plan_.afters(instruction))
      stack.push_back(plan_.lanes_of(lane.rank)[after.lane].first + after.step);
    if (instruction.op == Opcode::kWait && instruction.value >= 1 &&
        instruction.value <= signals_[instruction.counter].size())
      stack.push_back(signals_[instruction.counter][instruction.value - 1]);
    if (sender_[at] != kNone && same_extents(instruction, plan_.instructions[send])) stack.push_back(sender_[at]);
  }
  return false;
}

}  // namespace coll
