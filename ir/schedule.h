#pragma once
// Schedule IR: which data moves, in what logical order. Global: one list of statements over all ranks' memory, and the
// order of the list is the meaning (each statement reads all its sources before it writes).
//
// The elaborator (dsl/) makes it, for fixed ranks, root, parameters and machine; counts, type and operator stay
// symbolic. Accesses are as written: to `in`, `out`, `buf` (the in-place view, Contract::buf_blocks() blocks) or a
// `tmp`. All wrap-around is done: a range that wraps has been split into several ops, place + length <= places.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/contract.h"
#include "ir/extent.h"
#include "ir/support/ids.h"
#include "ir/support/source.h"

namespace coll {

inline constexpr uint32_t kAllRanks = 0xffffffffu;  // Place::rank of `buf[all][c]`

// The first rows of the buffer tables of both IRs.
namespace buffers {
inline constexpr uint16_t kIn = 0, kOut = 1;
inline constexpr uint16_t kBuf = 2;       // Schedule IR: the in-place view
inline constexpr uint16_t kFirstTmp = 3;  // Schedule IR: tmps follow
inline constexpr uint16_t kScratch = 2;   // Plan IR: scratch places
}  // namespace buffers

struct Place {
  uint32_t rank = 0;
  uint16_t buffer = buffers::kBuf;
  uint32_t place = 0;  // first place; `length` of the op says how many follow
  bool operator==(const Place&) const = default;
};

struct ScheduleOp {
  enum class Kind : uint8_t {
    kCopy,        // dst = source (exactly one source)
    kAccumulate,  // dst = fold(dst, sources...): `+=`
    kReduce,      // dst = fold(sources...): `= reduce(...)`
  };
  Kind kind = Kind::kCopy;
  uint16_t hint = 0;  // index into Schedule::hints; 0 is "no hint"
  uint16_t grid = 0;
  uint32_t line = 0;    // LineId
  uint32_t length = 1;  // places moved, the same for dst and every source
  Place dst;
  uint32_t first_source = 0, source_count = 1;  // into Schedule::sources
  bool operator==(const ScheduleOp&) const = default;
};

// Placement hints of statements; -1 / empty: not given.
struct Hint {
  int32_t channel = -1;
  int32_t lane = -1;
  std::string protocol;  // "" | "ll" | "ll128" | "simple"
  std::string via;       // link class
  std::string wire;      // "" | "bf16" | "f16" | "f8e4m3"
  bool operator==(const Hint&) const = default;
};

struct Tmp {
  std::string name;
  uint32_t places = 0;  // on every rank
  bool operator==(const Tmp&) const = default;
};

struct Schedule {
  std::string name;  // of the algorithm
  Contract contract;
  std::vector<Grid> grids{1};
  uint32_t instances = 1;
  std::vector<Tmp> tmps;  // buffer id kFirstTmp + index
  std::vector<Hint> hints{1};
  std::vector<ScheduleOp> ops;
  std::vector<Place> sources;
  LineTable lines;
  std::vector<SourceRange> line_ranges;  // beside lines.lines, for carets; may be empty (read back from text)
  // Set when only the statements that touch this rank were kept (`--rank r`); kAllRanks otherwise.
  uint32_t only_rank = kAllRanks;
  uint64_t family_hash = 0;  // of source, algorithm, ranks, root, parameters: equal for the parts of one plan

  uint32_t ranks() const { return contract.ranks; }
  // Places of a buffer on a rank, for grid 0 .. : blocks * parts, or a tmp's places.
  uint32_t places(uint32_t rank, uint16_t buffer, uint16_t grid) const;
  const std::string& buffer_name(uint16_t buffer) const;
};

// Text form; parse_schedule(print_schedule(s)) prints to the same bytes.
std::string print_schedule(const Schedule&);

}  // namespace coll
