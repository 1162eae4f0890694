#pragma once
// The executor's inner loops: folds, scaling and copies over arrays, vectorised, to the bit what ir/arithmetic.h gives
// (any NaN equals any NaN). The best of the instruction sets that this CPU has is chosen once, at the first call.
#include <cstdint>
#include <span>

#include "ir/types.h"

namespace coll::kernels {

struct Source {
  const void* data = nullptr;
  const double* factor = nullptr;  // scaled by it as it is read (premul); null: taken as it is
};

struct Destination {
  void* data = nullptr;
  // Written around the caches: for large results that nobody reads soon. Saves reading each line before it is written
  // (a copy of 64 MiB: 12 GB/s instead of 6 on one core of a Xeon of 2023). Must not be a source.
  bool streams = false;
};

// Every destination gets the left fold over the sources, divided by `divisor` where that is not 0, rounded once.
// A destination is either one of the sources, exactly, or does not overlap any.
void fold(DType, RedOp, std::span<const Source> sources, uint32_t divisor, std::span<const Destination>,
          uint64_t count);

// destination = source * factor. The same array, or not overlapping.
void scale(DType, double factor, const void* source, void* destination, uint64_t count);

// Does nothing where both are the same array; else they must not overlap.
void copy(const void* source, Destination, uint64_t bytes);

// For tests and the curious: "avx512", "avx2" or "portable". force() picks one by name; false if this CPU lacks it.
const char* instruction_set();
bool force(const char* instruction_set);

}  // namespace coll::kernels
