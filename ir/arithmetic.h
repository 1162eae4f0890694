#pragma once
// Element arithmetic: what one addition, one rounding, one scaling is, for every type and operator. The reference:
// plain scalar code, written to be compared with and not to be fast. Fast loops live with the executors and must give
// the same bits (any NaN equals any NaN).
//
// Rules. Small floats (f16, bf16, f8e4m3, f8e5m2) are accumulated in f32 and rounded once per instruction, to nearest
// even, subnormals kept; f32 and f64 round at every step of the fold. f16 and bf16 overflow to infinity. The 8-bit
// floats saturate: whatever is larger than the largest finite value, infinity included, becomes that value (f8e5m2 has
// an infinity that inputs may hold, but no instruction makes one). NaN stays NaN. min and max are IEEE 754-2019
// minimumNumber and maximumNumber with -0 < +0: a number wins over a NaN. Integers wrap; avg of integers divides
// truncating toward zero, after the sum has wrapped.
#include <cstdint>
#include <span>

#include "ir/types.h"

namespace coll {

// Small floats, exact to f32; from a double (or f32, which is a double) in one rounding.
float f32_from_f16(uint16_t bits);
float f32_from_bf16(uint16_t bits);
float f32_from_f8e4m3(uint8_t bits);
float f32_from_f8e5m2(uint8_t bits);
uint16_t f16_from_double(double value);
uint16_t bf16_from_double(double value);
uint8_t f8e4m3_from_double(double value);
uint8_t f8e5m2_from_double(double value);

// One element of any type. Loading is exact but for 64-bit integers beyond 2^53. Storing rounds floats once; a value
// for an integer type must be one of its values.
double load_as_double(DType, const void* element);
void store_double(DType, double value, void* element);

bool is_nan(DType, const void* element);

// What bounds rounding errors: unit roundoff u, smallest positive value, smallest normal value, largest finite value.
struct FloatFormat {
  double unit_roundoff, smallest, smallest_normal, largest;
};
FloatFormat float_format(DType);

// destination[i] = left fold over the sources' elements i, in listed order; one source is a copy in value. `divisor`
// other than 0 divides the finished sum before it is rounded (avg, where the set is complete). avg and premul fold as
// sum: scaling is scale_elements. The destination may be one of the sources.
void fold_elements(DType, RedOp, std::span<const void* const> sources, uint32_t divisor, void* destination,
                   uint64_t count);

// destination[i] = source[i] * factor, in f32 (f64 for f64), rounded to the type. Float types only.
void scale_elements(DType, double factor, const void* source, void* destination, uint64_t count);

// True if all `count` elements are equal to the bit, NaNs being equal to each other. `first_difference`, when given,
// gets the first index that is not.
bool equal_elements(DType, const void* a, const void* b, uint64_t count, uint64_t* first_difference = nullptr);

}  // namespace coll
