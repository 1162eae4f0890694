// The reference interpreter. One global loop: tile by tile, instance by instance, instructions in the witness order,
// which runs with bounded slots by construction; here messages are byte vectors without a bound.
//
// An instruction is done in three steps that no cleverness mixes: read every source of every place (scaling what comes
// from `in` under premul), fold, write every destination. So overlapping buffers and in-place calls need no thought.
#include "ir/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "ir/arithmetic.h"
#include "ir/complete.h"
#include "ir/layout.h"

namespace coll {

namespace {

using Bytes = std::vector<std::byte>;

class Interpreter {
 public:
  Interpreter(const Plan& plan, const CallSpec& spec, const std::vector<RankBuffers>& buffers)
      : plan_(plan),
        spec_(spec),
        buffers_(buffers),
        layout_(plan, spec.sizes, spec.slot_bytes),
        bytes_(size_bytes(spec.sizes.dtype)) {}

  Status run() {
    if (Status s = prepare(); !s.ok()) return s;
    std::vector<uint32_t> order = witness_order(plan_);
    for (uint64_t tile = 0; tile < layout_.tiling().tiles; ++tile)
      for (uint32_t instance = 0; instance < plan_.instances; ++instance) {
        std::fill(signals_.begin(), signals_.end(), 0u);
        for (uint32_t index : order)
          if (Status s = step(index, tile, instance); !s.ok()) return s;
        for (const auto& queue : messages_)
          if (!queue.empty()) return Status(StatusCode::kInvalid, "the plan leaves a message behind");
      }
    return {};
  }

 private:
  Status prepare() {
    if (plan_.only_rank != kAllRanks)
      return Status(StatusCode::kInvalid, "this is one rank's part of a plan, which does not run alone");
    if (plan_.contract.reduces() && !supports(spec_.op, spec_.sizes.dtype))
      return Status(StatusCode::kInvalid,
                    fmt::format("operator {} is not defined for {}", name(spec_.op), name(spec_.sizes.dtype)));
    scales_ = spec_.op == RedOp::kPremul && plan_.contract.reduces();
    if (scales_ && spec_.premul.size() != plan_.ranks())
      return Status(StatusCode::kInvalid, fmt::format("premul needs a factor for each of {} ranks, got {}",
                                                      plan_.ranks(), spec_.premul.size()));
    if (buffers_.size() != plan_.ranks())
      return Status(StatusCode::kInvalid,
                    fmt::format("{} ranks need as many buffers, got {}", plan_.ranks(), buffers_.size()));
    if (plan_.contract.kind != ContractKind::kAllToAllV && !spec_.sizes.counts.empty())
      return Status(StatusCode::kInvalid, fmt::format("{} takes one count, not a table of them", plan_.contract.name));
    if (plan_.contract.kind == ContractKind::kAllToAllV &&
        spec_.sizes.counts.size() != static_cast<size_t>(plan_.ranks()) * plan_.ranks())
      return Status(StatusCode::kInvalid, fmt::format("alltoallv needs {0} x {0} counts", plan_.ranks()));
    for (uint32_t r = 0; r < plan_.ranks(); ++r) {
      if (buffers_[r].in == nullptr && layout_.buffer_elements(r, buffers::kIn) > 0)
        return Status(StatusCode::kInvalid, fmt::format("rank {} has no input buffer", r));
      if (buffers_[r].out == nullptr && layout_.buffer_elements(r, buffers::kOut) > 0)
        return Status(StatusCode::kInvalid, fmt::format("rank {} has no output buffer", r));
      // Poisoned, so that a read of what nobody wrote shows: all bits set is NaN for every float type.
      scratch_.emplace_back(layout_.buffer_elements(r, buffers::kScratch) * bytes_, std::byte{0xff});
    }
    rank_of_.resize(plan_.instructions.size());
    for (const Lane& lane : plan_.lanes) std::fill_n(rank_of_.begin() + lane.first, lane.count, lane.rank);
    messages_.resize(plan_.connections.size());
    signals_.resize(plan_.counters.size());
    if (spec_.op == RedOp::kAvg) {
      completion_.emplace(plan_);
      if (!completion_->can_average()) return Status(StatusCode::kInvalid, kNoAverage);
    }
    return {};
  }

  // Memory of one place of an operand on `owner`; null with a status when it lies outside the buffer.
  std::byte* memory(uint32_t owner, const Instruction& instruction, const Operand& o, uint32_t i, uint64_t elements,
                    Status& status) {
    uint64_t first = layout_.offset(owner, instruction, o, i, tile_, instance_);
    if (first + elements > layout_.buffer_elements(owner, o.buffer)) {
      status = Status(StatusCode::kInvalid, fmt::format("{}: place {} lies outside its buffer on rank {}",
                                                        plan_.lines.describe(instruction.line), o.place + i, owner));
      return nullptr;
    }
    void* base = o.buffer == buffers::kIn    ? const_cast<void*>(buffers_[owner].in)
                 : o.buffer == buffers::kOut ? buffers_[owner].out
                                             : scratch_[owner].data();
    return static_cast<std::byte*>(base) + first * bytes_;
  }

  // Appends what place i of a memory operand holds on `owner`.
  Status read(uint32_t owner, const Instruction& instruction, const Operand& o, uint32_t i, uint64_t elements,
              Bytes& to) {
    if (elements == 0) return {};
    Status status;
    const std::byte* from = memory(owner, instruction, o, i, elements, status);
    if (from == nullptr) return status;
    to.insert(to.end(), from, from + elements * bytes_);
    if (scales_ && o.buffer == buffers::kIn) {
      std::byte* mine = to.data() + to.size() - elements * bytes_;
      scale_elements(spec_.sizes.dtype, spec_.premul[owner], mine, mine, elements);
    }
    return {};
  }

  Status write(uint32_t owner, const Instruction& instruction, const Operand& o, uint32_t i, uint64_t elements,
               const std::byte* from) {
    if (elements == 0) return {};
    Status status;
    std::byte* to = memory(owner, instruction, o, i, elements, status);
    if (to != nullptr) std::memcpy(to, from, elements * bytes_);
    return status;
  }

  template <class F>
  Status for_owners(uint32_t rank, const Operand& o, F&& f) {
    if (o.space != Space::kGroup) return f(o.space == Space::kPeer ? o.rank : rank);
    for (uint32_t member : plan_.groups[o.rank].ranks)
      if (Status s = f(member); !s.ok()) return s;
    return {};
  }

  Status step(uint32_t index, uint64_t tile, uint32_t instance) {
    const Instruction& instruction = plan_.instructions[index];
    uint32_t rank = rank_of_[index];
    tile_ = tile;
    instance_ = instance;
    if (instruction.op == Opcode::kSignal) {
      ++signals_[instruction.counter];
      return {};
    }
    if (instruction.op == Opcode::kWait) {
      if (signals_[instruction.counter] >= instruction.value) return {};
      return Status(StatusCode::kInvalid,
                    fmt::format("{}: rank {} waits for a signal that comes later in the plan's order",
                                plan_.lines.describe(instruction.line), rank));
    }

    std::vector<uint64_t> elements(instruction.length);
    uint64_t total = 0;
    for (uint32_t i = 0; i < instruction.length; ++i)
      total += elements[i] = layout_.elements(rank, instruction, i, tile, instance);
    if (total == 0) return {};  // an empty message is neither sent nor received

    // All places of each source, one after the other; a group is one source for each member, in rank order.
    std::vector<Bytes> sources;
    for (const Operand& o : plan_.sources(instruction)) {
      if (o.space == Space::kConnection) {
        auto& queue = messages_[o.rank];
        if (queue.empty() || queue.front().size() != total * bytes_)
          return Status(StatusCode::kInvalid,
                        fmt::format("{}: rank {} finds {} on connection {}", plan_.lines.describe(instruction.line),
                                    rank, queue.empty() ? "no message" : "a message of another length", o.rank));
        sources.push_back(std::move(queue.front()));
        queue.pop_front();
        continue;
      }
      Status s = for_owners(rank, o, [&](uint32_t owner) {
        Bytes& all = sources.emplace_back();
        for (uint32_t i = 0; i < instruction.length; ++i)
          if (Status r = read(owner, instruction, o, i, elements[i], all); !r.ok()) return r;
        return Status();
      });
      if (!s.ok()) return s;
    }

    Bytes result = fold(index, sources, elements);

    for (const Operand& o : plan_.destinations(instruction)) {
      if (o.space == Space::kConnection) {
        messages_[o.rank].push_back(result);
        continue;
      }
      Status s = for_owners(rank, o, [&](uint32_t owner) {
        const std::byte* from = result.data();
        for (uint32_t i = 0; i < instruction.length; from += elements[i++] * bytes_)
          if (Status r = write(owner, instruction, o, i, elements[i], from); !r.ok()) return r;
        return Status();
      });
      if (!s.ok()) return s;
    }
    return {};
  }

  Bytes fold(uint32_t index, std::vector<Bytes>& sources, const std::vector<uint64_t>& elements) {
    const Instruction& instruction = plan_.instructions[index];
    if (!info(instruction.op).reduces) return std::move(sources.front());
    Bytes result(sources.front().size());
    uint64_t at = 0;
    std::vector<const void*> pieces(sources.size());
    for (uint32_t i = 0; i < instruction.length; ++i) {
      for (size_t s = 0; s < sources.size(); ++s) pieces[s] = sources[s].data() + at;
      uint32_t divisor = completion_ ? completion_->divisor(index, i) : 0;
      fold_elements(spec_.sizes.dtype, spec_.op, pieces, divisor, result.data() + at, elements[i]);
      at += elements[i] * bytes_;
    }
    return result;
  }

  const Plan& plan_;
  const CallSpec& spec_;
  const std::vector<RankBuffers>& buffers_;
  Layout layout_;
  uint32_t bytes_;
  std::vector<Bytes> scratch_;
  std::vector<uint32_t> rank_of_;
  std::vector<std::deque<Bytes>> messages_;  // by connection, of the current tile and instance
  std::vector<uint32_t> signals_;            // by counter, likewise
  std::optional<Completion> completion_;     // when the operator is avg
  bool scales_ = false;                      // premul
  uint64_t tile_ = 0;
  uint32_t instance_ = 0;
};

}  // namespace

Status interpret(const Plan& plan, const CallSpec& spec, const std::vector<RankBuffers>& buffers) {
  return Interpreter(plan, spec, buffers).run();
}

}  // namespace coll
