#pragma once
// Dense typed ids: a 32-bit index that cannot be mixed up with an index into another table.
#include <cstdint>
#include <functional>
#include <limits>

namespace coll {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

using ConnectionId = Id<struct ConnectionTag>;
using LaneId = Id<struct LaneTag>;  // index into Plan::lanes, over all ranks
using InstructionId = Id<struct InstructionTag>;
using CounterId = Id<struct CounterTag>;
using GroupId = Id<struct GroupTag>;
using GridId = Id<struct GridTag>;
using BufferId = Id<struct BufferTag>;
using LineId = Id<struct LineTag>;  // index into a LineTable

}  // namespace coll
