// Every `ensure` is spelt out: for each value of its free names, for each place of its range, one promise about one
// block. The verifier then needs nothing but the list.
#include "dsl/collective.h"

#include <algorithm>
#include <string>

#include "dsl/diagnostics.h"
#include "dsl/runner.h"

namespace coll::dsl {

namespace {

using namespace ast;

// About 2 GB each.
constexpr uint64_t kMostPromises = uint64_t{1} << 24;
constexpr uint64_t kMostContributions = uint64_t{1} << 27;

class CollectiveRunner : public Runner {
 public:
  CollectiveRunner(const File& file, const Item& item, Program& program, const World& world, Diagnostics& diagnostics)
      : Runner(file, item, program, diagnostics), world_(world) {
    contract_.kind = ContractKind::kCustom;
    contract_.name = std::string(item.name);
    contract_.ranks = world.ranks;
  }

  std::optional<Contract> build() {
    if (!run()) return std::nullopt;
    // Open places (`== any`) take part in the search for double promises only.
    std::stable_sort(promises_.begin(), promises_.end(), [](const Promise& a, const Promise& b) {
      return std::pair(a.ensure.rank, a.ensure.block) < std::pair(b.ensure.rank, b.ensure.block);
    });
    for (size_t i = 1; i < promises_.size(); ++i) {
      const Promise &a = promises_[i - 1], &b = promises_[i];
      if (a.ensure.rank != b.ensure.rank || a.ensure.block != b.ensure.block) continue;
      diagnostics_
          .error(diag::kEnsuredTwice, range(b.stmt->span),
                 "block " + std::to_string(b.ensure.block) + " of `out` on rank " + std::to_string(b.ensure.rank) +
                     " is promised twice: one place holds one thing")
          .notes.push_back({range(a.stmt->span), "first here"});
      return std::nullopt;
    }
    for (Promise& p : promises_)
      if (!p.any) contract_.ensures.push_back(std::move(p.ensure));
    return std::move(contract_);
  }

 private:
  struct Promise {
    Ensure ensure;
    bool any = false;
    const Stmt* stmt = nullptr;
  };

  void declare(const Stmt& s) override {
    int64_t in = value(s, s.value), out = value(s, s.second);
    for (int64_t blocks : {in, out}) {
      if (blocks >= 0 && blocks <= kMostPlaces / 16) continue;
      refuse(diag::kChunksOutOfRange, s.span,
             std::to_string(blocks) + " blocks: a rank has 0 to " + std::to_string(kMostPlaces / 16) + " of them");
    }
    contract_.custom_in = static_cast<uint32_t>(in);
    contract_.custom_out = static_cast<uint32_t>(out);
  }

  void compile_leaf(Step&) override {}

  void leaf(Step& s) override {
    const Access& dst = *s.accesses[0].source;
    uint32_t ranks = dst.rank.binder == Index::kNoBinder ? 1 : world_.ranks;
    uint32_t blocks = dst.chunk.binder == Index::kNoBinder ? 1 : contract_.custom_out;
    if (uint64_t{ranks} * blocks > kMostPromises - promises_.size()) {
      refuse_size(s.stmt->span, "this promises " + amount(uint64_t{ranks} * blocks, "blocks") +
                                    ": a collective has up to " + std::to_string(kMostPromises) + " promises");
    }
    for (uint32_t r = 0; r < ranks; ++r) {
      if (dst.rank.binder != Index::kNoBinder) program_.slot(dst.rank.binder) = r;
      uint32_t rank = dst.rank.binder != Index::kNoBinder ? r : wrap(program_.eval(s.accesses[0].rank), world_.ranks);
      for (uint32_t b = 0; b < blocks; ++b) {
        if (dst.chunk.binder != Index::kNoBinder) program_.slot(dst.chunk.binder) = b;
        if (!program_.spend()) too_much(s.stmt->span);
        promise(s, rank, b);
      }
    }
  }

  uint32_t blocks_of(const CompiledAccess& a) {
    bool is_in = a.buffer == buffers::kIn;
    uint32_t count = is_in ? contract_.custom_in : contract_.custom_out;
    if (count == 0) {
      refuse(diag::kNoBufferHere, a.source->span,
             quoted(contract_.name) + " gives the ranks no `" + (is_in ? "in" : "out") + "`",
             "`chunks in A, out B` says how many blocks there are, and stands first");
    }
    return count;
  }

  // One value of the free names.
  void promise(Step& s, uint32_t rank, uint32_t bound_block) {
    const CompiledAccess& dst = s.accesses[0];
    uint32_t out_blocks = blocks_of(dst);
    Places out{bound_block, 1};
    if (dst.source->chunk.binder == Index::kNoBinder) out = places(dst, out_blocks, true);
    std::vector<Places> sources;
    std::vector<uint32_t> source_ranks;
    for (size_t i = 1; i < s.accesses.size(); ++i) {
      const CompiledAccess& a = s.accesses[i];
      sources.push_back(places(a, blocks_of(a), true));
      source_ranks.push_back(a.all ? kAllRanks : wrap(program_.eval(a.rank), world_.ranks));
      if (sources.back().length != out.length)
        refuse(diag::kLengthMismatch, a.source->span,
               text(a.source->span) + " has " + std::to_string(sources.back().length) + " blocks, " +
                   text(dst.source->span) + " has " + std::to_string(out.length) + ": the two sides are equally long");
    }
    for (uint32_t i = 0; i < out.length; ++i) {
      Promise p;
      p.stmt = s.stmt;
      p.any = s.accesses.size() == 1;
      p.ensure.rank = rank;
      p.ensure.block = (out.start + i) % out_blocks;
      p.ensure.reduce = s.stmt->reduces;
      for (size_t k = 0; k < sources.size(); ++k) {
        uint32_t block = (sources[k].start + i) % contract_.custom_in;
        uint32_t first = source_ranks[k] == kAllRanks ? 0 : source_ranks[k];
        uint32_t last = source_ranks[k] == kAllRanks ? world_.ranks : first + 1;
        for (uint32_t r = first; r < last; ++r) {
          if (++contributions_ > kMostContributions) {
            refuse_size(s.stmt->span, "a collective names up to " + std::to_string(kMostContributions) +
                                          " contributions of ranks, and this is one more" + values());
          }
          p.ensure.from.push_back({r, block});
        }
      }
      std::sort(p.ensure.from.begin(), p.ensure.from.end());
      auto twice = std::adjacent_find(p.ensure.from.begin(), p.ensure.from.end());
      if (twice != p.ensure.from.end()) {
        refuse(diag::kContributionTwice, s.stmt->span,
               "block " + std::to_string(twice->block) + " of rank " + std::to_string(twice->rank) +
                   " is counted twice for block " + std::to_string(p.ensure.block) + " of rank " +
                   std::to_string(rank) + ": each contribution enters a reduction once");
      }
      if (promises_.size() >= kMostPromises) {
        refuse_size(s.stmt->span, "a collective has up to " + std::to_string(kMostPromises) +
                                      " promises, and this is one more" + values());
      }
      promises_.push_back(std::move(p));
    }
  }

  const World& world_;
  Contract contract_;
  std::vector<Promise> promises_;
  uint64_t contributions_ = 0;
};

}  // namespace

std::optional<Contract> build_collective(const File& file, const Item& collective,
                                         const std::vector<int64_t>& arguments, const World& world, uint64_t max_steps,
                                         Diagnostics& diagnostics) {
  Program program(file, world, max_steps);
  program.enter(collective.slots);
  for (uint32_t i = 0; i < arguments.size(); ++i) program.bind(i, arguments[i]);
  return CollectiveRunner(file, collective, program, world, diagnostics).build();
}

}  // namespace coll::dsl
