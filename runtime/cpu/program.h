#pragma once
// One rank's part of a plan, resolved for given sizes: every place as a number of elements from the start of its
// buffer, so that the hot loop asks no grid and divides nothing. Made once for each (plan, sizes), by the rank's own
// thread.
#include <cstdint>
#include <span>
#include <vector>

#include "ir/layout.h"
#include "ir/plan.h"
#include "runtime/cpu/sharing.h"

namespace coll {

// A source or destination in somebody's memory; a group is one for each member, in rank order.
struct MemoryRef {
  uint32_t owner = 0;
  uint16_t buffer = 0;
  bool is_message = false;
  uint64_t first_begin = 0;  // into Program::begins: [place * instances + instance]
};

struct Step {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t instruction = 0;  // in the plan
  Opcode op = Opcode::kCopy;
  bool reduces = false;
  // A destination of one place is the source of another: then sources are read as a whole first.
  bool overlaps = false, overlaps_in_place = false;
  uint32_t length = 1;
  uint32_t takes = kNone, gives = kNone;  // connections
  uint32_t shared_ref = kNone;            // into Program::refs: memory that may be published instead of a slot
  bool shared_in_place = false;
  bool final_store = false;                          // see Share
  uint32_t first_source = 0, sources = 0;            // into Program::refs
  uint32_t first_destination = 0, destinations = 0;  // likewise, messages not among them
  uint64_t first_length = 0;                         // into Program::lengths: [place * instances + instance], elements
};

struct Program {
  std::vector<Step> steps;  // lanes one after the other
  std::vector<MemoryRef> refs;
  std::vector<uint64_t> begins, lengths;
  uint32_t instances = 1;
  uint64_t tile_elements = 1, tiles = 1;

  // Elements of place i in a tile.
  uint64_t elements(const Step& s, uint32_t i, uint64_t tile, uint32_t instance) const {
    uint64_t length = lengths[s.first_length + static_cast<uint64_t>(i) * instances + instance];
    uint64_t done = tile * tile_elements;
    return done >= length ? 0 : length - done < tile_elements ? length - done : tile_elements;
  }
  uint64_t elements(const Step& s, uint64_t tile, uint32_t instance) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s.length; ++i) sum += elements(s, i, tile, instance);
    return sum;
  }
};

Program resolve(const Plan&, const Layout&, uint32_t rank, const std::vector<Share>&);

}  // namespace coll
