#include "runtime/cpu/sharing.h"

#include <algorithm>

namespace coll {

namespace {

// The last instruction, in the witness order, that writes (or reads) each place (order + 1; 0: none).
class LastAccess {
 public:
  explicit LastAccess(const Plan& plan) : plan_(plan) {
    size_t size = 0;
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      scratch_.push_back(size);
      size += plan.scratch_places[r];
      for (uint16_t g = 0; g < plan.grids.size(); ++g) {
        out_.push_back(size);
        size += plan.places(r, buffers::kOut, g);
        in_.push_back(size);
        size += plan.places(r, buffers::kIn, g);
      }
    }
    orders_.resize(size);
  }
  uint64_t& operator()(uint32_t rank, uint16_t buffer, uint16_t grid, uint32_t place) {
    size_t row = rank * plan_.grids.size() + grid;
    size_t first = buffer == buffers::kScratch ? scratch_[rank] : buffer == buffers::kOut ? out_[row] : in_[row];
    return orders_[first + place];
  }

 private:
  const Plan& plan_;
  std::vector<size_t> scratch_, out_, in_;
  std::vector<uint64_t> orders_;
};

template <class F>
void for_owners(const Plan& plan, uint32_t rank, const Operand& o, F&& f) {
  if (o.space == Space::kGroup)
    for (uint32_t member : plan.groups[o.rank].ranks) f(member);
  else
    f(o.space == Space::kPeer ? o.rank : rank);
}

// True if in place this is a copy of memory onto itself: nothing is written.
bool copies_onto_itself(const Plan& plan, uint32_t rank, const Instruction& instruction, const Operand& to) {
  if (info(instruction.op).reduces || instruction.source_count != 1 || to.space != Space::kLocal) return false;
  const Operand& from = plan.sources(instruction)[0];
  int64_t shift = plan.contract.inplace_shift(rank) * plan.grids[instruction.grid].parts;
  return from.space == Space::kLocal && from.buffer == buffers::kIn && to.buffer == buffers::kOut &&
         static_cast<int64_t>(from.place) + shift == static_cast<int64_t>(to.place);
}

}  // namespace

std::vector<Share> shareable_messages(const Plan& plan) {
  LastAccess writers(plan), writers_in_place(plan), readers(plan);
  for (const Lane& lane : plan.lanes) {
    for (uint32_t index = lane.first; index < lane.first + lane.count; ++index) {
      const Instruction& instruction = plan.instructions[index];
      for (const Operand& o : plan.sources(instruction)) {
        if (o.space == Space::kConnection) continue;
        for_owners(plan, lane.rank, o, [&](uint32_t owner) {
          for (uint32_t p = o.place; p < o.place + instruction.length; ++p) {
            uint64_t& last = readers(owner, o.buffer, instruction.grid, p);
            last = std::max<uint64_t>(last, instruction.order + 1ull);
          }
        });
      }
      for (const Operand& o : plan.destinations(instruction)) {
        if (o.space == Space::kConnection) continue;
        for_owners(plan, lane.rank, o, [&](uint32_t owner) {
          for (uint32_t p = o.place; p < o.place + instruction.length; ++p) {
            auto note = [&](uint64_t& last) { last = std::max<uint64_t>(last, instruction.order + 1ull); };
            note(writers(owner, o.buffer, instruction.grid, p));
            if (!copies_onto_itself(plan, lane.rank, instruction, o))
              note(writers_in_place(owner, o.buffer, instruction.grid, p));
          }
        });
      }
    }
  }

  std::vector<Share> shares(plan.instructions.size());
  for (const Lane& lane : plan.lanes) {
    for (uint32_t index = lane.first; index < lane.first + lane.count; ++index) {
      const Instruction& instruction = plan.instructions[index];
      shares[index].final_store = true;
      for (const Operand& o : plan.destinations(instruction)) {
        if (o.space == Space::kConnection || o.buffer != buffers::kOut) continue;
        for_owners(plan, lane.rank, o, [&](uint32_t owner) {
          for (uint32_t p = o.place; p < o.place + instruction.length; ++p)
            if (readers(owner, o.buffer, instruction.grid, p) > instruction.order) shares[index].final_store = false;
        });
      }
      if (!info(instruction.op).gives) continue;
      // What is sent lies in the only source, or is stored in a local destination as well.
      bool stores = instruction.destination_count > 1;
      uint8_t first = stores ? instruction.source_count : 0;
      uint8_t last = stores ? first + instruction.destination_count : instruction.source_count;
      if (!stores && (info(instruction.op).reduces || instruction.source_count != 1)) continue;
      for (uint8_t o = first; o < last; ++o) {
        const Operand& operand = plan.operands[instruction.first_operand + o];
        if (operand.space != Space::kLocal) continue;
        Share share{o, true, shares[index].final_store};
        uint32_t rank = lane.rank;
        int64_t shift = plan.contract.inplace_shift(rank) * plan.grids[instruction.grid].parts;
        for (uint32_t p = operand.place; p < operand.place + instruction.length; ++p) {
          uint64_t limit = instruction.order + 1ull;
          if (writers(rank, operand.buffer, instruction.grid, p) > limit) share.operand = Share::kNone;
          if (operand.buffer != buffers::kIn) continue;
          int64_t twin = static_cast<int64_t>(p) + shift;
          bool exists = twin >= 0 && twin < plan.places(rank, buffers::kOut, instruction.grid);
          if (exists && writers_in_place(rank, buffers::kOut, instruction.grid, static_cast<uint32_t>(twin)) > limit)
            share.in_place = false;
        }
        if (share.operand != Share::kNone) {
          shares[index] = share;
          break;
        }
      }
    }
  }
  return shares;
}

}  // namespace coll
