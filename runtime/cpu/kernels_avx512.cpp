// The loops for AVX-512. A target pragma and not a compiler flag of this file: the standard headers
// above it must not be compiled for more than the other files assume, since the linker keeps one copy of their inline
// functions for the whole program.
#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/cpu/kernel_table.h"

#pragma GCC push_options
#pragma GCC target("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

namespace coll::kernels::avx512 {

#include "runtime/cpu/kernel_loops.inc"

namespace {

// F16C rounds to nearest even, keeps subnormals and overflows to infinity, as we do.
void widen_f16(const void* source, void* destination, uint64_t count) {
  const auto* x = static_cast<const uint16_t*>(source);
  auto* z = static_cast<float*>(destination);
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(z + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (; i < count; ++i) z[i] = F16::widen(x[i]);
}

void narrow_f16(const void* source, void* destination, uint64_t count) {
  const auto* x = static_cast<const float*>(source);
  auto* z = static_cast<uint16_t*>(destination);
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(z + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
  for (; i < count; ++i) z[i] = static_cast<uint16_t>(F16::narrow(x[i]));
}

// Streaming stores are weakly ordered: the fence keeps them before whatever publishes the result.
void stream(const void* source, void* destination, uint64_t bytes) {
  const auto* x = static_cast<const char*>(source);
  auto* z = static_cast<char*>(destination);
  for (uint64_t i = 0; i < bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(z + i), _mm512_loadu_si512(x + i));
  _mm_sfence();
}

}  // namespace

Table table() {
  Table t = make_table("avx512");
  t.widen[static_cast<int>(DType::kF16)] = widen_f16;
  t.narrow[static_cast<int>(DType::kF16)] = narrow_f16;
  t.stream = stream;
  return t;
}

}  // namespace coll::kernels::avx512

#pragma GCC pop_options
#endif
