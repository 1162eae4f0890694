#pragma once
// Elements of any type as raw bits: random inputs, poison, and comparison.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/types.h"

namespace coll {

// Reproducible numbers of a rank's input, independent of everything but seed, rank and index. Integers use their whole
// range. Floats have mixed signs and magnitudes in [1/8, 2); for products they lie near 1, so that a product over many
// ranks stays finite in every type.
void fill_random(DType, RedOp, uint64_t seed, uint32_t rank, void* data, uint64_t elements);

// What outputs hold before a run: NaN in floats, 0xA5 bytes in integers.
void fill_poison(DType, void* data, uint64_t elements);

std::string show_value(DType, const void* data, uint64_t index);

struct Mismatch {
  uint64_t wrong = 0;
  uint64_t first = 0;  // index of the first wrong one
};

// Of bound.size() elements, those of `got` that are further than bound[i] from `expected` (0: must have the same value;
// any NaN equals any NaN). Integers must be equal wherever the bound is 0.
Mismatch compare_values(DType, const void* got, const void* expected, std::span<const double> bound);

// Elements whose bits differ (any NaN equals any NaN).
Mismatch compare_bits(DType, const void* got, const void* expected, uint64_t elements);

// A 64-bit hash of bytes, to see that two results are the same bits without keeping both.
uint64_t hash_bytes(const void* data, uint64_t bytes);

}  // namespace coll
