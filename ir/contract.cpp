#include "ir/contract.h"

#include <algorithm>

#include "ir/support/check.h"

namespace coll {

namespace {

// How many blocks a side has: none, one or one per rank; on every rank or on one.
enum class Blocks : uint8_t { kOne, kRanks };
enum class Where : uint8_t { kAll, kRoot, kDst };

struct Row {
  ContractKind kind;
  const char* name;
  Blocks in;
  Where in_where;
  Blocks out;
  Where out_where;
  bool inplace;
  bool reduces;
};

constexpr Row kRows[] = {
    {ContractKind::kAllReduce, "allreduce", Blocks::kOne, Where::kAll, Blocks::kOne, Where::kAll, true, true},
    {ContractKind::kReduce, "reduce", Blocks::kOne, Where::kAll, Blocks::kOne, Where::kRoot, true, true},
    {ContractKind::kBroadcast, "broadcast", Blocks::kOne, Where::kRoot, Blocks::kOne, Where::kAll, true, false},
    {ContractKind::kAllGather, "allgather", Blocks::kOne, Where::kAll, Blocks::kRanks, Where::kAll, true, false},
    {ContractKind::kReduceScatter, "reduce_scatter", Blocks::kRanks, Where::kAll, Blocks::kOne, Where::kAll, true,
     true},
    {ContractKind::kGather, "gather", Blocks::kOne, Where::kAll, Blocks::kRanks, Where::kRoot, true, false},
    {ContractKind::kScatter, "scatter", Blocks::kRanks, Where::kRoot, Blocks::kOne, Where::kAll, true, false},
    {ContractKind::kAllToAll, "alltoall", Blocks::kRanks, Where::kAll, Blocks::kRanks, Where::kAll, true, false},
    {ContractKind::kAllToAllV, "alltoallv", Blocks::kRanks, Where::kAll, Blocks::kRanks, Where::kAll, false, false},
    {ContractKind::kSendRecv, "sendrecv", Blocks::kOne, Where::kRoot, Blocks::kOne, Where::kDst, false, false},
    {ContractKind::kBarrier, "barrier", Blocks::kOne, Where::kAll, Blocks::kOne, Where::kAll, true, true},
};

const Row* row(ContractKind kind) {
  for (const Row& r : kRows)
    if (r.kind == kind) return &r;
  return nullptr;
}

uint32_t blocks(Blocks b, Where where, const Contract& c, uint32_t rank) {
  if (where == Where::kRoot && rank != c.root) return 0;
  if (where == Where::kDst && rank != c.dst) return 0;
  return b == Blocks::kOne ? 1 : c.ranks;
}

}  // namespace

std::optional<ContractKind> parse_contract_kind(std::string_view s) {
  for (const Row& r : kRows)
    if (s == r.name) return r.kind;
  return std::nullopt;
}

const char* name(ContractKind kind) {
  const Row* r = row(kind);
  return r == nullptr ? "custom" : r->name;
}

std::vector<std::string> contract_names() {
  std::vector<std::string> names;
  for (const Row& r : kRows) names.emplace_back(r.name);
  return names;
}

uint32_t Contract::in_blocks(uint32_t rank) const {
  const Row* r = row(kind);
  return r == nullptr ? custom_in : blocks(r->in, r->in_where, *this, rank);
}

uint32_t Contract::out_blocks(uint32_t rank) const {
  const Row* r = row(kind);
  return r == nullptr ? custom_out : blocks(r->out, r->out_where, *this, rank);
}

uint32_t Contract::buf_blocks() const {
  const Row* r = row(kind);
  if (r == nullptr) return std::max(custom_in, custom_out);
  return r->in == Blocks::kRanks || r->out == Blocks::kRanks ? ranks : 1;
}

uint32_t Contract::in_offset(uint32_t rank) const {
  bool shifted = kind == ContractKind::kAllGather || kind == ContractKind::kGather;
  return shifted ? rank : 0;
}

uint32_t Contract::out_offset(uint32_t rank) const {
  bool shifted = kind == ContractKind::kReduceScatter || kind == ContractKind::kScatter;
  return shifted ? rank : 0;
}

bool Contract::offers_inplace() const {
  const Row* r = row(kind);
  return r != nullptr && r->inplace;
}

int64_t Contract::inplace_shift(uint32_t rank) const {
  return static_cast<int64_t>(in_offset(rank)) - static_cast<int64_t>(out_offset(rank));
}

bool Contract::reduces() const {
  const Row* r = row(kind);
  if (r != nullptr) return r->reduces;
  return std::any_of(ensures.begin(), ensures.end(), [](const Ensure& e) { return e.reduce; });
}

bool Contract::has_root() const {
  const Row* r = row(kind);
  return r != nullptr && kind != ContractKind::kSendRecv &&
         (r->in_where == Where::kRoot || r->out_where == Where::kRoot);
}

Expectation Contract::expect(uint32_t rank, uint32_t b) const {
  using Kind = Expectation::Kind;
  COLL_CHECK(b < out_blocks(rank), "expectation of a block that the rank does not have");
  auto copy_of = [](uint32_t from, uint32_t block) { return Expectation{Kind::kCopy, false, 0, {{from, block}}}; };
  switch (kind) {
    case ContractKind::kAllReduce:
    case ContractKind::kReduce:
      return {Kind::kReduce, true, 0, {}};
    case ContractKind::kReduceScatter:
      return {Kind::kReduce, true, rank, {}};
    case ContractKind::kBarrier:
      return {Kind::kCovered, true, 0, {}};
    case ContractKind::kBroadcast:
    case ContractKind::kSendRecv:
      return copy_of(root, 0);
    case ContractKind::kAllGather:
    case ContractKind::kGather:
      return copy_of(b, 0);
    case ContractKind::kScatter:
      return copy_of(root, rank);
    case ContractKind::kAllToAll:
    case ContractKind::kAllToAllV:
      return copy_of(b, rank);
    case ContractKind::kCustom:
      break;
  }
  auto it = std::lower_bound(ensures.begin(), ensures.end(), std::pair(rank, b),
                             [](const Ensure& e, const auto& key) { return std::pair(e.rank, e.block) < key; });
  if (it == ensures.end() || it->rank != rank || it->block != b) return {};
  return {it->reduce ? Kind::kReduce : Kind::kCopy, false, 0, it->from};
}

}  // namespace coll
