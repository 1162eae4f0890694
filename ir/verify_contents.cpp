// Contents: what every place of every rank holds, followed through one call in replay order, and at the end compared
// with the contract.
//
// In place: `in` lies on `out`, so reading `in` sees what was last written to the place of `out` under it. The run
// keeps the two apart and refuses when such a read would see anything but the place's own input. So what it finds holds
// for both ways of calling. (A copy of `in` onto its own place of `out` writes the same value and disturbs nothing,
// unless the contract reduces: then premul scales what it reads from `in`, and a later read would scale it again.)
//
// Wrong contents are told before anything else that is wrong: a chunk that is summed with another is also as long as
// one and not as the other, and "it is cut off" would be the lesser half of the truth. So parts that do not fit and
// reads of overwritten inputs are noted, and told only if the contract is met without them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ir/verify_algebra.h"
#include "ir/verify_slice.h"
#include "ir/verify_story.h"
#include "ir/verify_tables.h"

namespace coll::verifier {

namespace {

// Expectations that name all ranks (all-reduce, ...) are computed once for each (block, part); `expected` of the last
// other one is kept, since places of a block follow each other with parts of the same grid.
template <class Algebra>
class Contents {
 public:
  using Value = typename Algebra::Value;

  Contents(const Tables& t, const std::vector<uint32_t>& order, Algebra& algebra, VerifyResult& result)
      : t_(t),
        plan_(t.plan),
        order_(order),
        algebra_(algebra),
        result_(result),
        alltoallv_(plan_.contract.kind == ContractKind::kAllToAllV),
        reduces_(plan_.contract.reduces()),
        out_(t.out_base.back()),
        scratch_(t.scratch_base.back()),
        queues_(plan_.connections.size()) {}

  bool run() {
    for (uint32_t id : order_)
      if (!execute(id)) return false;
    if (!check_contract()) return false;
    if (!later_) return true;
    return refuse_at(t_, result_, later_->fault, later_->id, std::move(later_->lines));
  }

 private:
  struct Message {
    Value value;
    uint32_t next;
  };
  struct Queue {
    uint32_t first = kNone, last = kNone;
  };
  // What is refused once the contents have been found right.
  struct Later {
    Fault fault;
    uint32_t id;
    std::vector<std::string> lines;
  };

  bool execute(uint32_t id) {
    const Instruction& i = plan_.instructions[id];
    if (i.source_count == 0) return true;
    uint32_t rank = t_.rank_of(id), parts = plan_.grids[i.grid].parts;
    for (uint32_t n = 0; n < i.length; ++n) {
      uint32_t moved = moved_part(i, parts, n);
      values_.clear();
      for (const Operand& o : plan_.sources(i)) {
        if (o.space == Space::kConnection) {
          values_.push_back(pop(queues_[o.rank]));
          check_extent(id, rank, o, n, moved, values_.back());
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan_.groups[o.rank].ranks)
            if (!read(id, member, o, n, moved)) return false;
        } else if (!read(id, o.space == Space::kPeer ? o.rank : rank, o, n, moved)) {
          return false;
        }
      }
      Value value = values_[0];
      if (values_.size() > 1) {
        uint64_t extent = value.extent;
        for (const Value& v : values_)
          if (Extents::part(v.extent) < Extents::part(extent)) extent = v.extent;
        value = algebra_.fold(values_);
        value.extent = extent;
        if (i.op == Opcode::kSwitchReduce) algebra_.make_unordered(value, static_cast<uint64_t>(id) << 32 | n);
      }
      for (const Operand& o : plan_.destinations(i)) {
        if (o.space == Space::kConnection) {
          push(queues_[o.rank], value);
        } else if (o.space == Space::kGroup) {
          for (uint32_t member : plan_.groups[o.rank].ranks) place(member, o, i.grid, n) = value;
        } else {
          place(o.space == Space::kPeer ? o.rank : rank, o, i.grid, n) = value;
        }
      }
    }
    return true;
  }

  Value& place(uint32_t owner, const Operand& o, uint32_t grid, uint32_t n) {
    return o.buffer == buffers::kScratch ? scratch_[t_.scratch_base[owner] + o.place + n]
                                         : out_[t_.out_index(owner, grid, o.place + n)];
  }

  Value leaf(uint32_t rank, uint32_t grid, uint32_t place) {
    Value value = algebra_.leaf(t_.in_index(rank, grid, place));
    uint32_t parts = plan_.grids[grid].parts;
    uint64_t pair = alltoallv_ ? 1 + static_cast<uint64_t>(rank) * plan_.ranks() + place / parts : 0;
    value.extent = Extents::pack(grid, place % parts, pair);
    return value;
  }

  bool read(uint32_t id, uint32_t owner, const Operand& o, uint32_t n, uint32_t moved) {
    const Instruction& i = plan_.instructions[id];
    if (o.buffer == buffers::kIn) {
      values_.push_back(leaf(owner, i.grid, o.place + n));
      if (plan_.inplace) {
        uint32_t alias = t_.alias_of_in(owner, i.grid, o.place + n);
        if (alias != kNone) {
          const Value& over = out_[t_.out_index(owner, i.grid, alias)];
          if (over.extent != kUnwrittenExtent && !later_ && (reduces_ || !algebra_.same(over, values_.back())))
            tell_overwritten(id, owner, o.place + n, alias, algebra_.same(over, values_.back()));
        }
      }
    } else {
      values_.push_back(place(owner, o, i.grid, n));
      if (values_.back().extent == kUnwrittenExtent)
        return refuse_at(t_, result_, Fault::kUnwritten, id,
                         {fmt::format("{} reads {}, which nobody wrote before in this call", who(t_, id),
                                      known_as(owner, o, i.grid, n))});
    }
    check_extent(id, owner, o, n, moved, values_.back());
    return true;
  }

  void tell_overwritten(uint32_t id, uint32_t owner, uint32_t place, uint32_t alias, bool by_itself) {
    const Instruction& i = plan_.instructions[id];
    later_ = {Fault::kInPlace,
              id,
              {fmt::format("{} reads {} after {} was written: they are the same memory when called in place",
                           who(t_, id), place_name(t_, owner, buffers::kIn, i.grid, place),
                           place_name(t_, owner, buffers::kOut, i.grid, alias))}};
    if (by_itself) later_->lines.push_back("what was written is the same value, but premul would scale it twice");
    tell_writer(owner, buffers::kOut, i.grid, alias, id);
  }

  // Adds who wrote a place last before this instruction.
  void tell_writer(uint32_t owner, uint16_t buffer, uint32_t grid, uint32_t place, uint32_t id) {
    auto end = static_cast<uint32_t>(std::find(order_.begin(), order_.end(), id) - order_.begin());
    Slice slice = Slicer(t_, order_).of_place(owner, buffer, grid, place, end);
    if (!slice.written()) return;
    later_->lines.push_back(fmt::format("{} was written by {}", place_name(t_, owner, buffer, grid, place),
                                        who(t_, order_[slice.steps[0].position])));
  }

  // A place as the author of a .coll file can know it.
  std::string known_as(uint32_t owner, const Operand& o, uint32_t grid, uint32_t n) const {
    std::string name = place_name(t_, owner, o.buffer, grid, o.place + n);
    return o.buffer == buffers::kScratch ? name + " (a tmp or an intermediate)" : name;
  }

  // A place holds at least as much as is moved out of it, for every count.
  void check_extent(uint32_t id, uint32_t owner, const Operand& o, uint32_t n, uint32_t moved, const Value& value) {
    const Instruction& i = plan_.instructions[id];
    bool whole = Extents::grid(value.extent) == i.grid && Extents::part(value.extent) >= moved;
    bool other_pair = alltoallv_ && whole && !pair_fits(id, n, value);
    if ((whole && !other_pair) || later_) return;
    bool message = o.space == Space::kConnection;
    std::string from = message ? "a message" : known_as(owner, o, i.grid, n);
    std::string what;
    if (other_pair) {
      what = fmt::format("{} moves {} as if it were another block of alltoallv, whose length is another", who(t_, id),
                         from);
    } else if (Extents::grid(value.extent) != i.grid) {
      what = fmt::format("{} moves {} as data of grid {}, and it is of grid {}: for some counts it is cut off",
                         who(t_, id), from, i.grid, Extents::grid(value.extent));
    } else {
      what = fmt::format("{} moves {} as part {} of its block, and it is part {}: for some counts it is cut off",
                         who(t_, id), from, moved, Extents::part(value.extent));
    }
    later_ = {Fault::kDoesNotFit, id, {std::move(what)}};
    if (!message && o.buffer == buffers::kScratch) tell_writer(owner, o.buffer, i.grid, o.place + n, id);
  }

  // alltoallv: an instruction that touches a user buffer moves as much as that block is long.
  bool pair_fits(uint32_t id, uint32_t n, const Value& value) const {
    const Instruction& i = plan_.instructions[id];
    uint32_t rank = t_.rank_of(id), parts = plan_.grids[i.grid].parts;
    for (uint32_t o = 0; o < static_cast<uint32_t>(i.source_count) + i.destination_count; ++o) {
      const Operand& operand = plan_.operands[i.first_operand + o];
      if (operand.space == Space::kConnection || operand.buffer == buffers::kScratch) continue;
      uint64_t owner = operand.space == Space::kPeer ? operand.rank : rank, block = (operand.place + n) / parts;
      uint64_t pair = operand.buffer == buffers::kIn ? owner * plan_.ranks() + block : block * plan_.ranks() + owner;
      if (Extents::pair(value.extent) != pair + 1) return false;
    }
    return true;
  }

  // Messages under way are list nodes of one pool, so that a few hot ones serve a plan of millions.
  void push(Queue& queue, const Value& value) {
    uint32_t at = free_;
    if (at == kNone) {
      at = static_cast<uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[at].next;
    }
    pool_[at] = {value, kNone};
    (queue.first == kNone ? queue.first : pool_[queue.last].next) = at;
    queue.last = at;
  }
  Value pop(Queue& queue) {
    uint32_t at = queue.first;
    queue.first = pool_[at].next;
    pool_[at].next = free_;
    free_ = at;
    return pool_[at].value;
  }

  // ---- the contract, at the end of the call

  using Kind = Expectation::Kind;
  using Expected = typename Algebra::Expected;

  bool check_contract() {
    const Contract& contract = plan_.contract;
    result_.bits_equal = true;
    result_.bits_shared = false;
    for (uint32_t rank = 0; rank < plan_.ranks(); ++rank) {
      for (uint32_t block = 0; block < t_.out_blocks[rank]; ++block) {
        Expectation e = contract.expect(rank, block);
        if (e.kind == Kind::kAny) continue;
        for (uint32_t grid = 0; grid < plan_.grids.size(); ++grid) {
          if (plan_.grids[grid].lo == plan_.grids[grid].hi) continue;
          uint32_t parts = plan_.grids[grid].parts;
          for (uint32_t part = 0; part < parts; ++part)
            if (!check_place(rank, block, grid, part, e)) return false;
        }
      }
    }
    return true;
  }

  std::vector<uint32_t>& leaves_of(const Expectation& e, uint32_t grid, uint32_t part) {
    leaves_.clear();
    uint32_t parts = plan_.grids[grid].parts;
    if (e.all_ranks) {
      for (uint32_t r = 0; r < plan_.ranks(); ++r) leaves_.push_back(t_.in_index(r, grid, e.block * parts + part));
    } else {
      for (const InBlock& b : e.list) leaves_.push_back(t_.in_index(b.rank, grid, b.block * parts + part));
    }
    return leaves_;
  }

  bool check_place(uint32_t rank, uint32_t block, uint32_t grid, uint32_t part, const Expectation& e) {
    uint32_t parts = plan_.grids[grid].parts, place = block * parts + part;
    const Value& value = out_[t_.out_index(rank, grid, place)];
    bool right = value.extent != kUnwrittenExtent;
    if (right) {
      if (e.all_ranks) {
        Shared& shared = shared_of(e, grid, part);
        right = algebra_.holds(value, shared.expected);
        if (right && e.kind != Kind::kCovered) compare_bits(shared, value, rank, grid, place);
      } else {
        right = algebra_.holds(value, algebra_.expected(leaves_of(e, grid, part)));
        if (right && e.kind == Kind::kReduce && e.list.size() > 1)
          compare_bits(own_[{e.list, grid, part}], value, rank, grid, place);
        if (right && e.kind != Kind::kCovered && e.list.size() == 1) note_copy(leaves_[0], rank);
      }
    }
    return right || tell_wrong(rank, block, grid, part, e);
  }

  // Places that must be equal on all ranks: what they hold, and the first of them.
  struct Shared {
    bool known = false;
    Expected expected{};
    Value first{};
    uint32_t rank = kNone, place = 0;
  };
  Shared& shared_of(const Expectation& e, uint32_t grid, uint32_t part) {
    uint64_t total = t_.parts_before.back();
    uint64_t index = e.block * total + t_.parts_before[grid] + part;
    if (index >= shared_.size()) shared_.resize((e.block + 1) * total);
    Shared& shared = shared_[index];
    if (!shared.known) {
      shared.expected = algebra_.expected(leaves_of(e, grid, part));
      shared.known = true;
    }
    return shared;
  }
  // A copy has no order, so its bits are equal wherever it is held; it is only asked whether two ranks hold it.
  void note_copy(uint32_t leaf, uint32_t rank) {
    if (result_.bits_shared) return;
    if (copy_held_by_.empty()) copy_held_by_.assign(t_.in_base.back(), kNone);
    if (copy_held_by_[leaf] == kNone) copy_held_by_[leaf] = rank;
    result_.bits_shared = copy_held_by_[leaf] != rank;
  }
  void compare_bits(Shared& shared, const Value& value, uint32_t rank, uint32_t grid, uint32_t place) {
    if (shared.rank != kNone && shared.rank != rank) result_.bits_shared = true;
    if (shared.rank == kNone) {
      shared.first = value;
      shared.rank = rank;
      shared.place = place;
    } else if (result_.bits_equal && !algebra_.same_expression(shared.first, value)) {
      result_.bits_equal = false;
      result_.bits_note = fmt::format("{} and {} are reduced in different orders",
                                      place_name(t_, shared.rank, buffers::kOut, grid, shared.place),
                                      place_name(t_, rank, buffers::kOut, grid, place));
    }
  }

  // One sentence says what must be there and what is instead; a second one where it went wrong on the way; and a third
  // one, if that is another instruction, what wrote the place last.
  bool tell_wrong(uint32_t rank, uint32_t block, uint32_t grid, uint32_t part, const Expectation& e) {
    uint32_t place = block * plan_.grids[grid].parts + part;
    std::string name = place_on_rank(t_, rank, buffers::kOut, grid, place);
    std::vector<uint32_t> wanted = leaves_of(e, grid, part);
    std::sort(wanted.begin(), wanted.end());
    std::vector<Contribution> all;
    for (uint32_t leaf : wanted) all.push_back({leaf});
    bool covers = e.kind == Kind::kCovered;
    std::string must = fmt::format("must {} {}", covers ? "be reached by" : "hold", contributions_name(t_, all));

    Slicer slicer(t_, order_);
    Slice slice = slicer.of_place(rank, buffers::kOut, grid, place, static_cast<uint32_t>(order_.size()));
    if (!slice.written()) {
      refuse(
          result_, Fault::kMissing,
          {fmt::format("no instruction of `{}` writes {}, which {}", plan_.name, name, must), rule_of(plan_.contract)});
      result_.story.rank = rank;
      return false;
    }

    std::vector<Contribution> missing, again, foreign;
    auto has = slice.contributions.begin(), end = slice.contributions.end();
    for (uint32_t leaf : wanted) {
      for (; has != end && has->leaf < leaf; ++has) foreign.push_back(*has);
      if (has == end || has->leaf != leaf) {
        missing.push_back({leaf});
      } else {
        if (has->count > 1) again.push_back(*has);
        ++has;
      }
    }
    foreign.insert(foreign.end(), has, end);
    if (covers) foreign.clear(), again.clear();

    std::string instead;
    std::optional<Culprit> culprit;
    Fault fault = Fault::kMissing;
    if (!foreign.empty()) {
      fault = Fault::kWrong;
      instead = missing.empty() ? fmt::format("and holds {} too", contributions_name(t_, foreign))
                                : fmt::format("and holds {} instead", contributions_name(t_, slice.contributions));
      culprit = slicer.first_mix(slice, wanted);
    } else if (!again.empty()) {
      fault = Fault::kDuplicated;
      instead = fmt::format("once and holds {}", contributions_name(t_, again));
      if (!missing.empty()) instead += fmt::format(", and lacks {}", contributions_name(t_, missing));
      culprit = slicer.first_recount(slice, again[0].leaf);
    } else {
      instead = fmt::format("and {} {}", covers ? "is not reached by" : "lacks", contributions_name(t_, missing));
    }

    std::vector<std::string> lines{fmt::format("{} {} {}", name, must, instead)};
    uint32_t writer = order_[slice.steps[0].position], blamed = culprit ? order_[culprit->position] : writer;
    if (culprit)
      lines.push_back(fmt::format("it goes wrong at {}, which adds {} to {}", who(t_, blamed),
                                  contributions_name(t_, slicer.contributions(culprit->added, culprit->position)),
                                  contributions_name(t_, slicer.contributions(culprit->before, culprit->position))));
    if (writer != blamed || !culprit) lines.push_back(fmt::format("it was last written by {}", who(t_, writer)));
    return refuse_at(t_, result_, fault, blamed, std::move(lines));
  }

  const Tables& t_;
  const Plan& plan_;
  const std::vector<uint32_t>& order_;
  Algebra& algebra_;
  VerifyResult& result_;
  bool alltoallv_, reduces_;
  std::optional<Later> later_;
  std::vector<Value> out_, scratch_, values_;
  std::vector<Queue> queues_;
  std::vector<Message> pool_;
  uint32_t free_ = kNone;
  std::vector<uint32_t> leaves_;
  std::vector<Shared> shared_;
  std::vector<uint32_t> copy_held_by_;  // of each leaf that is expected as it is: the first rank that must hold it
  std::map<std::tuple<std::vector<InBlock>, uint32_t, uint32_t>, Shared> own_;  // a user's own reductions only
};

// Exact structures cost at most one entry of a set for each rank and fold, and make a story unnecessary to doubt; past
// these bounds fingerprints are some ten times cheaper.
bool exact_is_cheap(const Tables& t) {
  constexpr uint32_t kRanks = 64;
  constexpr uint64_t kEntries = 4'000'000;
  if (t.plan.ranks() > kRanks) return false;
  uint64_t folds = 0;
  for (const Instruction& i : t.plan.instructions)
    if (info(i.op).reduces) folds += static_cast<uint64_t>(i.length) * i.source_count;
  return folds * t.plan.ranks() <= kEntries;
}

}  // namespace

bool check_contents(const Tables& t, const std::vector<uint32_t>& order, const VerifyOptions& options,
                    VerifyResult& result) {
  using Mode = VerifyOptions::Contents;
  if (t.plan.contract.kind == ContractKind::kBarrier) {
    result.exact = true;
    CoverageAlgebra algebra(t.in_base.back());
    return Contents<CoverageAlgebra>(t, order, algebra, result).run();
  }
  result.exact = options.contents == Mode::kExact || (options.contents == Mode::kAuto && exact_is_cheap(t));
  if (result.exact) {
    ExactAlgebra algebra;
    return Contents<ExactAlgebra>(t, order, algebra, result).run();
  }
  FingerprintAlgebra algebra;
  return Contents<FingerprintAlgebra>(t, order, algebra, result).run();
}

}  // namespace coll::verifier
