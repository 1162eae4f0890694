// Contents: what every place of every rank holds, followed through one call in replay order, and at the end compared
// with the contract.
//
// In place: `in` lies on `out`, so reading `in` sees what was last written to the place of `out` under it. The run
// keeps the two apart and refuses when such a read would see anything but the place's own input. So what it finds holds
// for both ways of calling. (A copy of `in` onto its own place of `out` writes the same value and disturbs nothing.)
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/verify_algebra.h"
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
        out_(t.out_base.back()),
        scratch_(t.scratch_base.back()),
        queues_(plan_.connections.size()) {}

  bool run() {
    for (uint32_t id : order_)
      if (!execute(id)) return false;
    return check_contract();
  }

 private:
  struct Message {
    Value value;
    uint32_t next;
  };
  struct Queue {
    uint32_t first = kNone, last = kNone;
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
          if (!check_read(id, rank, o, n, moved, values_.back())) return false;
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
          if (over.extent != kUnwrittenExtent && !algebra_.same(over, values_.back()))
            return refuse_at(t_, result_, Fault::kInPlace, id,
                             {fmt::format("{} reads {} after {} was written", who(t_, id),
                                          place_name(t_, owner, buffers::kIn, i.grid, o.place + n),
                                          place_name(t_, owner, buffers::kOut, i.grid, alias)),
                              "the two are the same memory when called in place"});
        }
      }
    } else {
      values_.push_back(place(owner, o, i.grid, n));
    }
    return check_read(id, owner, o, n, moved, values_.back());
  }

  bool check_read(uint32_t id, uint32_t owner, const Operand& o, uint32_t n, uint32_t moved, const Value& value) {
    const Instruction& i = plan_.instructions[id];
    if (value.extent == kUnwrittenExtent)
      return refuse_at(t_, result_, Fault::kUnwritten, id,
                       {fmt::format("{} reads {}, which nobody wrote before in this call", who(t_, id),
                                    place_name(t_, owner, o.buffer, i.grid, o.place + n))});
    bool whole = Extents::grid(value.extent) == i.grid && Extents::part(value.extent) >= moved;
    if (alltoallv_ && whole) whole = pair_fits(id, o, n, value);
    if (whole) return true;
    std::string from =
        o.space == Space::kConnection ? "a message" : place_name(t_, owner, o.buffer, i.grid, o.place + n);
    return refuse_at(
        t_, result_, Fault::kDoesNotFit, id,
        {fmt::format("{} moves what part {} of grid {} is long, and {} holds part {} of grid {}: for some "
                     "counts it is cut off",
                     who(t_, id), moved, i.grid, from, Extents::part(value.extent), Extents::grid(value.extent))});
  }

  // alltoallv: an instruction that touches a user buffer moves as much as that block is long.
  bool pair_fits(uint32_t id, const Operand&, uint32_t n, const Value& value) const {
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
        if (right) compare_bits(shared, value, rank, grid, place);
      } else {
        right = algebra_.holds(value, algebra_.expected(leaves_of(e, grid, part)));
        if (right && e.kind == Kind::kReduce && e.list.size() > 1)
          compare_bits(own_[{e.list, grid, part}], value, rank, grid, place);
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
  void compare_bits(Shared& shared, const Value& value, uint32_t rank, uint32_t grid, uint32_t place) {
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

  bool tell_wrong(uint32_t rank, uint32_t block, uint32_t grid, uint32_t part, const Expectation& e) {
    uint32_t place = block * plan_.grids[grid].parts + part;
    std::string name = place_name(t_, rank, buffers::kOut, grid, place);
    Provenance held = provenance(t_, order_, rank, grid, place);
    std::vector<uint32_t> wanted = leaves_of(e, grid, part);
    std::sort(wanted.begin(), wanted.end());
    std::string promise = e.kind == Kind::kCopy      ? leaf_name(t_, wanted[0])
                          : e.kind == Kind::kCovered ? std::string("every rank's token")
                                                     : fmt::format("the reduction of {} contributions", wanted.size());
    std::vector<std::string> missing, twice, foreign;
    auto has = held.contributions.begin();
    for (uint32_t leaf : wanted) {
      for (; has != held.contributions.end() && has->leaf < leaf; ++has) foreign.push_back(leaf_name(t_, has->leaf));
      if (has == held.contributions.end() || has->leaf != leaf) {
        missing.push_back(leaf_name(t_, leaf));
        continue;
      }
      if (has->count > 1 && e.kind != Kind::kCovered)
        twice.push_back(fmt::format("{} {} times", leaf_name(t_, leaf), has->count));
      ++has;
    }
    for (; has != held.contributions.end(); ++has) foreign.push_back(leaf_name(t_, has->leaf));
    if (e.kind == Kind::kCovered) foreign.clear();

    std::vector<std::string> lines{fmt::format("{} must hold {}", name, promise)};
    if (!held.written) {
      lines.push_back("nobody writes it");
    } else {
      if (!missing.empty()) lines.push_back("it lacks " + list_of(missing));
      if (!twice.empty()) lines.push_back("it counts " + list_of(twice));
      if (!foreign.empty()) lines.push_back("it holds " + list_of(foreign) + ", which does not belong there");
      if (held.reducer != kNone && held.reducer != held.writer)
        lines.push_back(fmt::format("its last reduction is {}", who(t_, held.reducer)));
      lines.push_back(fmt::format("it was last written by {}", who(t_, held.writer)));
    }
    Fault fault = !foreign.empty() ? Fault::kWrong : !twice.empty() ? Fault::kDuplicated : Fault::kMissing;
    if (held.written) return refuse_at(t_, result_, fault, held.writer, std::move(lines));
    refuse(result_, fault, std::move(lines));
    result_.story.rank = rank;
    return false;
  }

  const Tables& t_;
  const Plan& plan_;
  const std::vector<uint32_t>& order_;
  Algebra& algebra_;
  VerifyResult& result_;
  bool alltoallv_;
  std::vector<Value> out_, scratch_, values_;
  std::vector<Queue> queues_;
  std::vector<Message> pool_;
  uint32_t free_ = kNone;
  std::vector<uint32_t> leaves_;
  std::vector<Shared> shared_;
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
