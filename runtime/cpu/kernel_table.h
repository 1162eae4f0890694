#pragma once
// What one instruction set provides: loops over one block or array. Native types (f32, f64, integers) are folded as
// they are; small floats are widened block by block to f32, folded there and narrowed once.
#include <cstdint>

#include "ir/types.h"

namespace coll::kernels {

using Fold2 = void (*)(const void* a, const void* b, void* destination, uint64_t count);
using Divide = void (*)(void* values, uint32_t divisor, uint64_t count);
using Scale = void (*)(const void* source, double factor, void* destination, uint64_t count);
using Convert = void (*)(const void* source, void* destination, uint64_t count);

// `bytes` is a multiple of 64, the destination aligned to 64 bytes.
using Stream = void (*)(const void* source, void* destination, uint64_t bytes);

struct Table {
  const char* name = "";
  Fold2 fold2[kDTypeCount][kRedOpCount] = {};  // native types; the small floats' rows are empty
  Divide divide[kDTypeCount] = {};             // native types
  Scale scale[kDTypeCount] = {};               // f32, f64
  Convert widen[kDTypeCount] = {};             // small floats, to f32
  Convert narrow[kDTypeCount] = {};            // and back
  Stream stream = nullptr;                     // a copy around the caches, to an aligned destination; null: has none
};

namespace portable {
Table table();
}
#if defined(__x86_64__)
namespace avx2 {
Table table();
}
namespace avx512 {
Table table();
}
#endif

}  // namespace coll::kernels
