#include "ir/opcode_shape.h"

#include <algorithm>

namespace coll {

namespace {

// Sources of an opcode: so many of each space, in any order (the order is the fold's). Destinations: a list of spaces
// in this order, of which the first may repeat for `copy` and `reduce`.
struct Range {
  uint8_t least, most;
};
constexpr uint8_t kMany = 255;

struct Row {
  const char* words;
  Range local, connection, peer, group;  // sources
  uint8_t destinations;
  Space destination[2];
  bool repeats;  // the first destination may repeat
};

constexpr Range kNo{0, 0}, kOne{1, 1}, kSome{1, kMany}, kAnyNumber{0, kMany};
constexpr Space kL = Space::kLocal, kC = Space::kConnection, kP = Space::kPeer, kG = Space::kGroup;

// In the order of opcodes.def.
constexpr Row kRows[] = {
    {"local -> connection", kOne, kNo, kNo, kNo, 1, {kC}, false},                              // send
    {"connection -> local", kNo, kOne, kNo, kNo, 1, {kL}, false},                              // recv
    {"local..., connection -> local", kSome, kOne, kNo, kNo, 1, {kL}, false},                  // rr
    {"connection -> connection", kNo, kOne, kNo, kNo, 1, {kC}, false},                         // rs
    {"connection -> local, connection", kNo, kOne, kNo, kNo, 2, {kL, kC}, false},              // rcs
    {"local..., connection -> connection", kSome, kOne, kNo, kNo, 1, {kC}, false},             // rrs
    {"local..., connection -> local, connection", kSome, kOne, kNo, kNo, 2, {kL, kC}, false},  // rrcs
    {"local... -> connection", kSome, kNo, kNo, kNo, 1, {kC}, false},                          // redsend
    {"local... -> local, connection", kSome, kNo, kNo, kNo, 2, {kL, kC}, false},               // redcsend
    {"local -> local...", kOne, kNo, kNo, kNo, 1, {kL}, true},                                 // copy
    {"local... -> local...", kSome, kNo, kNo, kNo, 1, {kL}, true},                             // reduce
    {"local -> peer", kOne, kNo, kNo, kNo, 1, {kP}, false},                                    // put
    {"peer -> local", kNo, kNo, kOne, kNo, 1, {kL}, false},                                    // get
    {"local and peer... -> local", kAnyNumber, kNo, kSome, kNo, 1, {kL}, false},               // getred
    {"local... -> peer", kSome, kNo, kNo, kNo, 1, {kP}, false},                                // putred
    {"no operands", kNo, kNo, kNo, kNo, 0, {}, false},                                         // signal
    {"no operands", kNo, kNo, kNo, kNo, 0, {}, false},                                         // wait
    {"local -> group", kOne, kNo, kNo, kNo, 1, {kG}, false},                                   // mcast
    {"group -> local", kNo, kNo, kNo, kOne, 1, {kL}, false},                                   // mred
};
static_assert(static_cast<size_t>(Opcode::kSwitchReduce) + 1 == std::size(kRows), "a row for each opcode");

bool inside(Range range, uint32_t count) { return count >= range.least && count <= range.most; }

bool is_sync(Opcode op) { return op == Opcode::kSignal || op == Opcode::kWait; }

ShapeFault check_place(const Plan& plan, uint32_t rank, const Instruction& i, const Operand& o) {
  uint64_t end = static_cast<uint64_t>(o.place) + i.length;
  return end <= plan.places(rank, o.buffer, i.grid) ? ShapeFault::kNone : ShapeFault::kPlace;
}

ShapeFault check_operand(const Plan& plan, uint32_t rank, const Instruction& i, const Operand& o, bool source) {
  if (o.space == Space::kConnection) {
    if (o.rank >= plan.connections.size()) return ShapeFault::kConnection;
    const Connection& c = plan.connections[o.rank];
    return (source ? c.destination : c.source) == rank ? ShapeFault::kNone : ShapeFault::kConnectionEnd;
  }
  if (o.buffer > buffers::kScratch) return ShapeFault::kBuffer;
  if (o.space == Space::kLocal) return check_place(plan, rank, i, o);
  if (o.space == Space::kPeer) {
    if (o.rank >= plan.ranks()) return ShapeFault::kRank;
    if (o.rank == rank) return ShapeFault::kPeerIsSelf;
    return check_place(plan, o.rank, i, o);
  }
  if (o.rank >= plan.groups.size()) return ShapeFault::kGroup;
  bool member = false;
  for (uint32_t other : plan.groups[o.rank].ranks) {
    if (other >= plan.ranks()) return ShapeFault::kRank;
    member |= other == rank;
    if (check_place(plan, other, i, o) != ShapeFault::kNone) return ShapeFault::kPlace;
  }
  return member ? ShapeFault::kNone : ShapeFault::kGroupMember;
}

}  // namespace

const char* shape(Opcode op) { return kRows[static_cast<int>(op)].words; }

ShapeError check_operands(const Plan& plan, const Instruction& i) {
  const Row& row = kRows[static_cast<int>(i.op)];
  uint32_t seen[4] = {0, 0, 0, 0};
  const Operand* operands = plan.operands.data() + i.first_operand;
  for (uint32_t s = 0; s < i.source_count; ++s) ++seen[static_cast<int>(operands[s].space)];
  if (!inside(row.local, seen[0]) || !inside(row.connection, seen[1]) || !inside(row.peer, seen[2]) ||
      !inside(row.group, seen[3]))
    return {ShapeFault::kSources, -1};
  const Operand* destinations = operands + i.source_count;
  if (row.repeats ? i.destination_count < 1 : i.destination_count != row.destinations)
    return {ShapeFault::kDestinations, -1};
  for (uint32_t d = 0; d < i.destination_count; ++d)
    if (destinations[d].space != row.destination[row.repeats ? 0 : d])
      return {ShapeFault::kDestinations, static_cast<int>(i.source_count + d)};
  return {};
}

ShapeError check_shape(const Plan& plan, uint32_t rank, const Instruction& i) {
  if (ShapeError error = check_operands(plan, i)) return error;
  if (is_sync(i.op)) {
    if (i.counter >= plan.counters.size()) return {ShapeFault::kCounter, -1};
    const Counter& counter = plan.counters[i.counter];
    if ((i.op == Opcode::kSignal ? counter.signaller : counter.owner) != rank) return {ShapeFault::kCounterEnd, -1};
    if (i.op == Opcode::kWait && i.value == 0) return {ShapeFault::kWaitValue, -1};
    return {};
  }
  if (i.grid >= plan.grids.size()) return {ShapeFault::kGrid, -1};
  if (i.length == 0) return {ShapeFault::kLength, -1};
  if (i.first_part != kLongestPart && i.first_part >= plan.grids[i.grid].parts) return {ShapeFault::kPart, -1};
  const Operand* operands = plan.operands.data() + i.first_operand;
  for (int o = 0; o < i.source_count + i.destination_count; ++o) {
    ShapeFault fault = check_operand(plan, rank, i, operands[o], o < i.source_count);
    if (fault != ShapeFault::kNone) return {fault, o};
  }
  return {};
}

const char* reason(ShapeFault fault) {
  switch (fault) {
    case ShapeFault::kNone:
      return nullptr;
    case ShapeFault::kSources:
      return "sources that this instruction does not take";
    case ShapeFault::kDestinations:
      return "destinations that this instruction does not take";
    case ShapeFault::kGrid:
      return "a grid that is not in the plan";
    case ShapeFault::kPart:
      return "a part outside its grid";
    case ShapeFault::kLength:
      return "a length of no places";
    case ShapeFault::kBuffer:
      return "a buffer that a plan does not have";
    case ShapeFault::kPlace:
      return "a place outside its buffer";
    case ShapeFault::kRank:
      return "a rank outside the world";
    case ShapeFault::kPeerIsSelf:
      return "a rank as its own peer";
    case ShapeFault::kConnection:
      return "a connection that is not in the plan";
    case ShapeFault::kConnectionEnd:
      return "a connection that does not begin or end at this rank";
    case ShapeFault::kGroup:
      return "a group that is not in the plan";
    case ShapeFault::kGroupMember:
      return "a group that this rank does not belong to";
    case ShapeFault::kCounter:
      return "a counter that is not in the plan";
    case ShapeFault::kCounterEnd:
      return "a counter that is not this rank's to signal or to wait for";
    case ShapeFault::kWaitValue:
      return "a wait for less than one signal";
  }
  return "an unknown fault";
}

const char* shape_error(const Plan& plan, uint32_t rank, const Instruction& i) {
  return reason(check_shape(plan, rank, i).fault);
}

}  // namespace coll
