#pragma once
// Where the places of a program lie on each rank: `buf` is `in`, `out` or scratch, a tmp is scratch.
//
// A place of `buf` is read from `in` until it has been written. It is written to `out` where the contract gives the
// rank that block, else to scratch ("shadow" places). `in` is never written. So one plan serves out of place and in
// place: only the addresses differ.
//
// Where a range of `buf` breaks (from `out` to shadow) is a function of contract and rank alone; which of it is still
// in `in` depends on the statements of that rank alone. Both ends of a message can therefore agree on its pieces, and
// one rank's part can be compiled by itself.
#include <cstdint>
#include <vector>

#include "ir/schedule.h"

namespace coll {

struct Spot {
  uint16_t buffer = 0;  // buffers::kIn, kOut, kScratch (virtual)
  uint32_t place = 0;
  bool operator==(const Spot&) const = default;
};

class BufferMap {
 public:
  explicit BufferMap(const Schedule&);

  bool compiled(uint32_t rank) const { return s_.only_rank == kAllRanks || s_.only_rank == rank; }

  // Where a place is written. Contiguous within one piece (pieces()).
  Spot write_spot(const Place&, uint32_t i) const;
  void mark_written(const Place&, uint32_t i);
  bool written(const Place&, uint32_t i) const;
  // True and the spot in `in`, if place i of `buf` has an input on this rank.
  bool input_spot(const Place&, uint32_t i, Spot& spot) const;
  // An explicit read of `in` whose memory has been overwritten when called in place.
  bool input_gone_in_place(const Place&, uint32_t i) const;

  // The end of the piece of `buf` that place.place + i lies in, as an index like i; at most `length`. Any rank.
  uint32_t piece_end(const Place&, uint32_t i, uint32_t length) const;

  uint32_t fresh_scratch(uint32_t rank, uint32_t length);
  uint32_t scratch_places(uint32_t rank) const { return ranks_[rank].virtual_places; }

  // True if two spots of a rank are the same memory, out of place or in place.
  bool same_memory(uint32_t rank, const Spot& a, const Spot& b) const;

 private:
  struct RankState {
    uint32_t in_places = 0, out_places = 0;
    int64_t in_first = 0, out_first = 0;  // places of `buf` at which in / out begin
    uint32_t shadow = 0;                  // virtual scratch places [0, shadow) are `buf` places
    uint32_t virtual_places = 0;
    std::vector<uint8_t> out_written, scratch_written;
  };
  uint32_t parts() const { return s_.grids[0].parts; }

  const Schedule& s_;
  const Contract& c_;
  std::vector<RankState> ranks_;
};

}  // namespace coll
