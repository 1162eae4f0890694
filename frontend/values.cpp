#include "frontend/values.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "ir/arithmetic.h"
#include "ir/support/check.h"

namespace coll {

namespace {

// Widths of a float's fields below its sign; the exponent has IEEE's bias.
struct BitLayout {
  int exponent, mantissa;
};

BitLayout layout_of(DType t) {
  switch (t) {
    case DType::kF16:
      return {5, 10};
    case DType::kBF16:
      return {8, 7};
    case DType::kF32:
      return {8, 23};
    case DType::kF64:
      return {11, 52};
    case DType::kF8E4M3:
      return {4, 3};
    case DType::kF8E5M2:
      return {5, 2};
    default:
      break;
  }
  COLL_CHECK(false, "bit layout of an integer type");
}

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class Word>
void fill_words(uint64_t base, bool floating, BitLayout f, bool near_one, void* data, uint64_t elements) {
  Word* out = static_cast<Word*>(data);
  if (!floating) {
    for (uint64_t i = 0; i < elements; ++i) out[i] = static_cast<Word>(mixed(base + i));
    return;
  }
  uint64_t mantissa_mask = (uint64_t{1} << f.mantissa) - 1;
  uint64_t bias = (uint64_t{1} << (f.exponent - 1)) - 1;
  int sign_at = f.exponent + f.mantissa;
  uint64_t quarter = uint64_t{3} << (f.mantissa - 2);  // the two top bits of the mantissa
  for (uint64_t i = 0; i < elements; ++i) {
    uint64_t r = mixed(base + i);
    uint64_t sign = r & 1, choice = (r >> 1) & 3;
    uint64_t mantissa = (r >> 8) & mantissa_mask;
    uint64_t exponent = bias - 3 + choice;
    if (near_one) {  // [1, 1.25) or [0.875, 1)
      bool below = (choice & 1) != 0;
      exponent = below ? bias - 1 : bias;
      mantissa = below ? mantissa | quarter : mantissa & ~quarter;
    }
    out[i] = static_cast<Word>((sign << sign_at) | (exponent << f.mantissa) | mantissa);
  }
}

const void* element(DType t, const void* data, uint64_t index) {
  return static_cast<const char*>(data) + index * size_bytes(t);
}

void note(Mismatch& m, uint64_t index) {
  if (m.wrong++ == 0) m.first = index;
}

}  // namespace

void fill_random(DType t, RedOp op, uint64_t seed, uint32_t rank, void* data, uint64_t elements) {
  uint64_t base = mixed(seed ^ mixed(rank + 1));
  bool floating = is_float(t);
  BitLayout f = floating ? layout_of(t) : BitLayout{};
  bool near_one = op == RedOp::kProd;
  switch (size_bytes(t)) {
    case 1:
      return fill_words<uint8_t>(base, floating, f, near_one, data, elements);
    case 2:
      return fill_words<uint16_t>(base, floating, f, near_one, data, elements);
    case 4:
      return fill_words<uint32_t>(base, floating, f, near_one, data, elements);
    default:
      return fill_words<uint64_t>(base, floating, f, near_one, data, elements);
  }
}

void fill_poison(DType t, void* data, uint64_t elements) {
  if (elements != 0) std::memset(data, is_float(t) ? 0xFF : 0xA5, elements * size_bytes(t));
}

std::string show_value(DType t, const void* data, uint64_t index) {
  const void* at = element(t, data, index);
  if (t == DType::kI64 || t == DType::kU64) {  // a double would not hold them
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return t == DType::kU64 ? std::to_string(word) : std::to_string(static_cast<int64_t>(word));
  }
  return fmt::format("{:.9g}", load_as_double(t, at));
}

Mismatch compare_values(DType t, const void* got, const void* expected, std::span<const double> bound) {
  Mismatch m;
  for (uint64_t i = 0; i < bound.size(); ++i) {
    const void *a = element(t, got, i), *b = element(t, expected, i);
    if (std::memcmp(a, b, size_bytes(t)) == 0) continue;
    if (!is_float(t) && bound[i] == 0) {  // 64-bit integers do not fit a double
      note(m, i);
      continue;
    }
    double x = load_as_double(t, a), y = load_as_double(t, b);
    if (std::isnan(x) || std::isnan(y)) {
      if (std::isnan(x) != std::isnan(y)) note(m, i);
    } else if (x != y && !(std::abs(x - y) <= bound[i])) {
      note(m, i);
    }
  }
  return m;
}

Mismatch compare_bits(DType t, const void* got, const void* expected, uint64_t elements) {
  Mismatch m;
  uint64_t at = 0, step = 0;
  while (at < elements && !equal_elements(t, element(t, got, at), element(t, expected, at), elements - at, &step)) {
    note(m, at + step);
    at += step + 1;
  }
  return m;
}

uint64_t hash_bytes(const void* data, uint64_t bytes) {
  const char* at = static_cast<const char*>(data);
  uint64_t h = mixed(bytes);
  uint64_t words = bytes / 8;
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t w;
    std::memcpy(&w, at + i * 8, 8);
    h = (h ^ w) * 0x9fb21c651e98df25u;
    h ^= h >> 32;
  }
  uint64_t tail = 0;
  if (bytes % 8 != 0) std::memcpy(&tail, at + words * 8, bytes % 8);
  return mixed(h ^ tail);
}

}  // namespace coll
