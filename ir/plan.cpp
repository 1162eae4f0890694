#include "ir/plan.h"

#include <algorithm>

#include "ir/support/check.h"

namespace coll {

namespace {

constexpr OpcodeInfo kInfo[] = {
#define OPCODE(id, mnemonic, takes, gives, reduces) {mnemonic, takes, gives, reduces},
#include "ir/opcodes.def"
#undef OPCODE
};

}  // namespace

const OpcodeInfo& info(Opcode op) { return kInfo[static_cast<int>(op)]; }

uint32_t Schedule::places(uint32_t rank, uint16_t buffer, uint16_t grid) const {
  if (buffer >= buffers::kFirstTmp) return tmps[buffer - buffers::kFirstTmp].places;
  uint32_t blocks = buffer == buffers::kIn    ? contract.in_blocks(rank)
                    : buffer == buffers::kOut ? contract.out_blocks(rank)
                                              : contract.buf_blocks();
  return blocks * grids[grid].parts;
}

const std::string& Schedule::buffer_name(uint16_t buffer) const {
  static const std::string kNames[] = {"in", "out", "buf"};
  return buffer < buffers::kFirstTmp ? kNames[buffer] : tmps[buffer - buffers::kFirstTmp].name;
}

uint32_t Plan::places(uint32_t rank, uint16_t buffer, uint16_t grid) const {
  if (buffer == buffers::kScratch) return scratch_places[rank];
  return (buffer == buffers::kIn ? contract.in_blocks(rank) : contract.out_blocks(rank)) * grids[grid].parts;
}

void Plan::finish() {
  rank_lanes.assign(ranks() + 1, 0);
  for (const Lane& lane : lanes) {
    COLL_CHECK(lane.rank < ranks(), "lane of a rank outside the world");
    ++rank_lanes[lane.rank + 1];
  }
  for (uint32_t r = 0; r < ranks(); ++r) rank_lanes[r + 1] += rank_lanes[r];
  COLL_CHECK(std::is_sorted(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.rank < b.rank; }),
             "lanes are sorted by rank");
  max_message_parts = 1;
  for (const Instruction& i : instructions)
    if (info(i.op).takes || info(i.op).gives) max_message_parts = std::max(max_message_parts, i.length);
}

uint32_t Plan::channels_per_pair_max() const {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const Connection& c : connections) pairs.emplace_back(c.source, c.destination);
  std::sort(pairs.begin(), pairs.end());
  uint32_t most = 0, run = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    run = i > 0 && pairs[i] == pairs[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

bool Plan::has_direct() const {
  return !groups.empty() || std::any_of(instructions.begin(), instructions.end(), [](const Instruction& i) {
    return i.op == Opcode::kPut || i.op == Opcode::kGet || i.op == Opcode::kGetReduce || i.op == Opcode::kPutReduce;
  });
}

}  // namespace coll
