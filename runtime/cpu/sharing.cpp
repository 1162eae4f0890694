#include "runtime/cpu/sharing.h"

#include <algorithm>
#include <tuple>

#include "runtime/cpu/message_order.h"

namespace coll {

namespace {

// A number for every place of every rank.
class Places {
 public:
  explicit Places(const Plan& plan) : plan_(plan) {
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      scratch_.push_back(size_);
      size_ += plan.scratch_places[r];
      for (uint16_t g = 0; g < plan.grids.size(); ++g) {
        out_.push_back(size_);
        size_ += plan.places(r, buffers::kOut, g);
        in_.push_back(size_);
        size_ += plan.places(r, buffers::kIn, g);
      }
    }
  }
  uint64_t operator()(uint32_t rank, uint16_t buffer, uint16_t grid, uint32_t place) const {
    size_t row = rank * plan_.grids.size() + grid;
    return place + (buffer == buffers::kScratch ? scratch_[rank] : buffer == buffers::kOut ? out_[row] : in_[row]);
  }
  uint64_t size() const { return size_; }

 private:
  const Plan& plan_;
  uint64_t size_ = 0;
  std::vector<uint64_t> scratch_, out_, in_;
};

template <class F>
void for_places(const Plan& plan, uint32_t rank, const Instruction& instruction, const Operand& o, F&& f) {
  auto all = [&](uint32_t owner) {
    for (uint32_t p = o.place; p < o.place + instruction.length; ++p) f(owner, p);
  };
  if (o.space == Space::kGroup)
    for (uint32_t member : plan.groups[o.rank].ranks) all(member);
  else if (o.space != Space::kConnection)
    all(o.space == Space::kPeer ? o.rank : rank);
}

// True if in place this is a copy of memory onto itself: nothing is written.
bool copies_onto_itself(const Plan& plan, uint32_t rank, const Instruction& instruction, const Operand& to) {
  if (info(instruction.op).reduces || instruction.source_count != 1 || to.space != Space::kLocal) return false;
  const Operand& from = plan.sources(instruction)[0];
  int64_t shift = plan.contract.inplace_shift(rank) * plan.grids[instruction.grid].parts;
  return from.space == Space::kLocal && from.buffer == buffers::kIn && to.buffer == buffers::kOut &&
         static_cast<int64_t>(from.place) + shift == static_cast<int64_t>(to.place);
}

struct Write {
  uint64_t place;
  uint32_t order, instruction;
  bool onto_itself;  // in place nothing is written
  auto operator<=>(const Write&) const = default;
};

class Analysis {
 public:
  explicit Analysis(const Plan& plan) : plan_(plan), places_(plan), order_(plan), last_read_(places_.size(), 0) {
    for (const Lane& lane : plan.lanes)
      for (uint32_t index = lane.first; index < lane.first + lane.count; ++index) {
        const Instruction& i = plan.instructions[index];
        for (const Operand& o : plan.sources(i))
          for_places(plan, lane.rank, i, o, [&](uint32_t owner, uint32_t p) {
            uint64_t& last = last_read_[places_(owner, o.buffer, i.grid, p)];
            last = std::max<uint64_t>(last, i.order);
          });
        for (const Operand& o : plan.destinations(i))
          for_places(plan, lane.rank, i, o, [&](uint32_t owner, uint32_t p) {
            writes_.push_back(
                {places_(owner, o.buffer, i.grid, p), i.order, index, copies_onto_itself(plan, lane.rank, i, o)});
          });
      }
    std::sort(writes_.begin(), writes_.end());
  }

  Share share(uint32_t rank, uint32_t index) const {
    const Instruction& i = plan_.instructions[index];
    Share share;
    share.final_store = true;
    for (const Operand& o : plan_.destinations(i))
      if (o.buffer == buffers::kOut)
        for_places(plan_, rank, i, o, [&](uint32_t owner, uint32_t p) {
          if (last_read_[places_(owner, o.buffer, i.grid, p)] > i.order) share.final_store = false;
        });
    if (!info(i.op).gives) return share;
    // What is sent lies in the only source, or is stored in a local destination as well.
    bool stores = i.destination_count > 1;
    if (!stores && (info(i.op).reduces || i.source_count != 1)) return share;
    uint32_t first = stores ? i.source_count : 0;
    uint32_t count = stores ? i.destination_count : 1;
    for (uint32_t o = first; o < first + count && share.operand == Share::kNone; ++o) {
      const Operand& operand = plan_.operands[i.first_operand + o];
      if (operand.space != Space::kLocal) continue;
      bool apart = true, in_place = true;
      for_places(plan_, rank, i, operand, [&](uint32_t owner, uint32_t p) {
        apart = apart && kept(index, places_(owner, operand.buffer, i.grid, p), false);
        if (operand.buffer == buffers::kScratch) return;
        // The place that is the same memory in place: `out` for `in` and the other way round. `in` is never written.
        int64_t twin = p + plan_.contract.inplace_shift(rank) * static_cast<int64_t>(plan_.grids[i.grid].parts);
        if (operand.buffer == buffers::kOut) twin = p;
        bool exists = twin >= 0 && twin < plan_.places(rank, buffers::kOut, i.grid);
        if (exists)
          in_place = in_place && kept(index, places_(owner, buffers::kOut, i.grid, static_cast<uint32_t>(twin)), true);
      });
      if (!apart) continue;
      share.operand = static_cast<uint8_t>(o);
      share.in_place = in_place;
    }
    return share;
  }

 private:
  // True if nobody writes the place between the instruction's sending and the consumption of what it sent.
  bool kept(uint32_t index, uint64_t place, bool in_place) const {
    uint32_t order = plan_.instructions[index].order;
    auto it = std::upper_bound(writes_.begin(), writes_.end(), std::tuple(place, order),
                               [](const auto& key, const Write& w) { return key < std::tuple(w.place, w.order); });
    while (in_place && it != writes_.end() && it->place == place && it->onto_itself) ++it;
    if (it == writes_.end() || it->place != place) return true;
    return order_.consumed_before(index, it->instruction);
  }

  const Plan& plan_;
  Places places_;
  MessageOrder order_;
  std::vector<uint64_t> last_read_;  // by place: order of the last instruction that reads it
  std::vector<Write> writes_;        // sorted
};

}  // namespace

std::vector<Share> shareable_messages(const Plan& plan) {
  Analysis analysis(plan);
  std::vector<Share> shares(plan.instructions.size());
  for (const Lane& lane : plan.lanes)
    for (uint32_t index = lane.first; index < lane.first + lane.count; ++index)
      shares[index] = analysis.share(lane.rank, index);
  return shares;
}

}  // namespace coll
