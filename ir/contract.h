#pragma once
// Contracts: what a collective promises, for a fixed number of ranks and a fixed root, in equal *blocks*.
//
// `count` (elements) is per block. A rank's `in` has in_blocks(rank) blocks, its `out` has out_blocks(rank).
// What each output block must hold is expect(rank, block): the contributions, as (rank, in-block) pairs.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coll {

enum class ContractKind : uint8_t {
  kAllReduce,
  kReduce,     // root
  kBroadcast,  // root
  kAllGather,
  kReduceScatter,
  kGather,   // root
  kScatter,  // root
  kAllToAll,
  kAllToAllV,  // block (i, j) has its own length, see Sizes in ir/extent.h
  kSendRecv,   // src, dst
  kBarrier,    // one token block per rank; every out must be reached by every rank's token, at least once
  kCustom,     // a user's own `collective`
};

// One (rank, block) of somebody's `in`.
struct InBlock {
  uint32_t rank = 0;
  uint32_t block = 0;
  auto operator<=>(const InBlock&) const = default;
};

struct Expectation {
  enum class Kind : uint8_t {
    kAny,      // nothing is promised
    kCopy,     // the one contribution, not reduced with anything
    kReduce,   // the reduction of all contributions, each exactly once
    kCovered,  // contains every contribution at least once (barrier)
  };
  Kind kind = Kind::kAny;
  // Contributions. For reductions over all ranks of the same block, `all_ranks` is set and `block` names it, so
  // that no list of `ranks` entries per block is made; otherwise `list`.
  bool all_ranks = false;
  uint32_t block = 0;
  std::vector<InBlock> list;
};

// One explicit promise of a user's own collective.
struct Ensure {
  uint32_t rank = 0;
  uint32_t block = 0;
  bool reduce = false;
  std::vector<InBlock> from;  // one entry when `reduce` is false; sorted
  bool operator==(const Ensure&) const = default;
};

struct Contract {
  ContractKind kind = ContractKind::kAllReduce;
  std::string name = "allreduce";  // as written in .coll; a user's own name for kCustom
  uint32_t ranks = 0;
  uint32_t root = 0;  // root, or src of sendrecv; 0 where the kind has none
  uint32_t dst = 0;   // dst of sendrecv
  // kCustom only:
  uint32_t custom_in = 0, custom_out = 0;  // blocks on every rank
  std::vector<Ensure> ensures;             // sorted by (rank, block), at most one each

  bool operator==(const Contract&) const = default;

  uint32_t in_blocks(uint32_t rank) const;
  uint32_t out_blocks(uint32_t rank) const;
  // Blocks of `buf`, the same on every rank: the larger of in and out over all ranks.
  uint32_t buf_blocks() const;
  // Block of `buf` at which this rank's in / out begin (0 where the rank has none).
  uint32_t in_offset(uint32_t rank) const;
  uint32_t out_offset(uint32_t rank) const;

  // True if the collective can be called in place: in block b lies on out block b + inplace_shift(rank), for every b
  // for which both exist. (All-gather: shift = rank; reduce-scatter: shift = -rank; otherwise 0.)
  bool offers_inplace() const;
  int64_t inplace_shift(uint32_t rank) const;

  bool reduces() const;  // any expectation is a reduction: then type and operator matter
  bool has_root() const;

  Expectation expect(uint32_t rank, uint32_t out_block) const;
};

// Built-in kinds by their name in .coll (`allreduce`, ... `barrier`); kCustom is not among them.
std::optional<ContractKind> parse_contract_kind(std::string_view);
const char* name(ContractKind);

// Names of all built-in contracts, for "did you mean".
std::vector<std::string> contract_names();

}  // namespace coll
