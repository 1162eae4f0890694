#include "ir/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/support/check.h"

namespace coll {

namespace {

// A small binary float: sign, exponent, mantissa. `max_bits` is the largest finite value; `infinity` is 0 where the
// format saturates.
struct SmallFormat {
  int exponent_bits, mantissa_bits;
  uint32_t max_bits, infinity, nan;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int smallest_exponent() const { return 1 - bias(); }
  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
};

constexpr SmallFormat kF16Format{5, 10, 0x7bff, 0x7c00, 0x7e00};
constexpr SmallFormat kBF16Format{8, 7, 0x7f7f, 0x7f80, 0x7fc0};
constexpr SmallFormat kE4M3Format{4, 3, 0x7e, 0, 0x7f};
constexpr SmallFormat kE5M2Format{5, 2, 0x7b, 0, 0x7f};

// The quantum of a value is the distance of its neighbours in the format; rounding to a multiple of it is rounding to
// the format, for normal and subnormal values alike. Scaling by powers of two is exact, so nearbyint rounds once.
uint32_t encode(const SmallFormat& f, double value) {
  uint32_t sign = std::signbit(value) ? f.sign_bit() : 0;
  if (std::isnan(value)) return sign | f.nan;
  double magnitude = std::fabs(value);
  uint32_t overflow = f.infinity != 0 ? f.infinity : f.max_bits;
  if (std::isinf(magnitude)) return sign | overflow;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), f.smallest_exponent());
  if (exponent > f.bias() + 1) return sign | overflow;
  auto quanta = static_cast<uint32_t>(std::nearbyint(std::scalbn(magnitude, f.mantissa_bits - exponent)));
  uint32_t one = 1u << f.mantissa_bits;  // quanta of the smallest normal value; a carry moves into the exponent
  auto biased = static_cast<uint32_t>(exponent - f.smallest_exponent() + 1);
  uint32_t bits = quanta < one ? quanta : (biased << f.mantissa_bits) + (quanta - one);
  return sign | (bits > f.max_bits ? overflow : bits);
}

float decode(const SmallFormat& f, uint32_t bits) {
  uint32_t magnitude = bits & (f.sign_bit() - 1);
  uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  auto biased = static_cast<int>(magnitude >> f.mantissa_bits);
  float value = 0;
  if (magnitude > f.max_bits) {
    bool infinite = f.mantissa_bits != 3 && mantissa == 0;  // f8e4m3 has no infinity
    value = infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (biased == 0) {
    value = std::ldexp(static_cast<float>(mantissa), f.smallest_exponent() - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + (1u << f.mantissa_bits)), biased - f.bias() - f.mantissa_bits);
  }
  return (bits & f.sign_bit()) != 0 ? -value : value;
}

template <class T>
T load(const void* p, uint64_t i = 0) {
  T v;
  std::memcpy(&v, static_cast<const char*>(p) + i * sizeof(T), sizeof(T));
  return v;
}

template <class T>
void store(T v, void* p, uint64_t i = 0) {
  std::memcpy(static_cast<char*>(p) + i * sizeof(T), &v, sizeof(T));
}

// How elements of a type are stored, and what they are accumulated in.
template <DType>
struct Element;
template <>
struct Element<DType::kF16> {
  using Stored = uint16_t;
  using Accumulated = float;
  static float widen(uint16_t v) { return f32_from_f16(v); }
  static uint16_t narrow(float v) { return f16_from_double(v); }
};
template <>
struct Element<DType::kBF16> {
  using Stored = uint16_t;
  using Accumulated = float;
  static float widen(uint16_t v) { return f32_from_bf16(v); }
  static uint16_t narrow(float v) { return bf16_from_double(v); }
};
template <>
struct Element<DType::kF8E4M3> {
  using Stored = uint8_t;
  using Accumulated = float;
  static float widen(uint8_t v) { return f32_from_f8e4m3(v); }
  static uint8_t narrow(float v) { return f8e4m3_from_double(v); }
};
template <>
struct Element<DType::kF8E5M2> {
  using Stored = uint8_t;
  using Accumulated = float;
  static float widen(uint8_t v) { return f32_from_f8e5m2(v); }
  static uint8_t narrow(float v) { return f8e5m2_from_double(v); }
};
template <class T>
struct Itself {
  using Stored = T;
  using Accumulated = T;
  static T widen(T v) { return v; }
  static T narrow(T v) { return v; }
};
template <>
struct Element<DType::kF32> : Itself<float> {};
template <>
struct Element<DType::kF64> : Itself<double> {};
template <>
struct Element<DType::kI8> : Itself<int8_t> {};
template <>
struct Element<DType::kU8> : Itself<uint8_t> {};
template <>
struct Element<DType::kI32> : Itself<int32_t> {};
template <>
struct Element<DType::kU32> : Itself<uint32_t> {};
template <>
struct Element<DType::kI64> : Itself<int64_t> {};
template <>
struct Element<DType::kU64> : Itself<uint64_t> {};

template <class F>
decltype(auto) with_element(DType type, F&& f) {
  switch (type) {
    case DType::kF16:
      return f(Element<DType::kF16>{});
    case DType::kBF16:
      return f(Element<DType::kBF16>{});
    case DType::kF32:
      return f(Element<DType::kF32>{});
    case DType::kF64:
      return f(Element<DType::kF64>{});
    case DType::kF8E4M3:
      return f(Element<DType::kF8E4M3>{});
    case DType::kF8E5M2:
      return f(Element<DType::kF8E5M2>{});
    case DType::kI8:
      return f(Element<DType::kI8>{});
    case DType::kU8:
      return f(Element<DType::kU8>{});
    case DType::kI32:
      return f(Element<DType::kI32>{});
    case DType::kU32:
      return f(Element<DType::kU32>{});
    case DType::kI64:
      return f(Element<DType::kI64>{});
    case DType::kU64:
      return f(Element<DType::kU64>{});
  }
  COLL_CHECK(false, "an element type that does not exist");
}

template <class T>
T lesser(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <class T>
T greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

// Integers wrap: computed as 64-bit unsigned (no promotion to a signed int, whose overflow is undefined), cut off.
template <class T>
T combine(RedOp op, T a, T b) {
  switch (op) {
    case RedOp::kMin:
      return lesser(a, b);
    case RedOp::kMax:
      return greater(a, b);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case RedOp::kSum:
      case RedOp::kAvg:
      case RedOp::kPremul:
        return a + b;
      case RedOp::kProd:
        return a * b;
      default:
        break;
    }
  } else {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (op) {
      case RedOp::kSum:
      case RedOp::kAvg:
        return static_cast<T>(x + y);
      case RedOp::kProd:
        return static_cast<T>(x * y);
      case RedOp::kBand:
        return static_cast<T>(x & y);
      case RedOp::kBor:
        return static_cast<T>(x | y);
      case RedOp::kBxor:
        return static_cast<T>(x ^ y);
      default:
        break;
    }
  }
  COLL_CHECK(false, "an operator that the element type does not have");
}

template <class T>
T divide(T sum, uint32_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return sum / static_cast<T>(divisor);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<int64_t>(sum) / static_cast<int64_t>(divisor));
  } else {
    return static_cast<T>(static_cast<uint64_t>(sum) / divisor);
  }
}

}  // namespace

float f32_from_f16(uint16_t bits) { return decode(kF16Format, bits); }
float f32_from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
float f32_from_f8e4m3(uint8_t bits) { return decode(kE4M3Format, bits); }
float f32_from_f8e5m2(uint8_t bits) { return decode(kE5M2Format, bits); }
uint16_t f16_from_double(double value) { return static_cast<uint16_t>(encode(kF16Format, value)); }
uint16_t bf16_from_double(double value) { return static_cast<uint16_t>(encode(kBF16Format, value)); }
uint8_t f8e4m3_from_double(double value) { return static_cast<uint8_t>(encode(kE4M3Format, value)); }
uint8_t f8e5m2_from_double(double value) { return static_cast<uint8_t>(encode(kE5M2Format, value)); }

double load_as_double(DType type, const void* element) {
  return with_element(type, [&](auto e) {
    using E = decltype(e);
    return static_cast<double>(E::widen(load<typename E::Stored>(element)));
  });
}

void store_double(DType type, double value, void* element) {
  switch (type) {
    case DType::kF16:
      return store(f16_from_double(value), element);
    case DType::kBF16:
      return store(bf16_from_double(value), element);
    case DType::kF8E4M3:
      return store(f8e4m3_from_double(value), element);
    case DType::kF8E5M2:
      return store(f8e5m2_from_double(value), element);
    default:
      break;
  }
  with_element(type, [&](auto e) { store(static_cast<typename decltype(e)::Stored>(value), element); });
}

bool is_nan(DType type, const void* element) { return is_float(type) && std::isnan(load_as_double(type, element)); }

FloatFormat float_format(DType type) {
  auto small = [](const SmallFormat& f) {
    double normal = std::ldexp(1.0, f.smallest_exponent());
    return FloatFormat{std::ldexp(1.0, -f.mantissa_bits - 1), std::ldexp(normal, -f.mantissa_bits), normal,
                       static_cast<double>(decode(f, f.max_bits))};
  };
  auto standard = []<class T>(T) {
    using L = std::numeric_limits<T>;
    return FloatFormat{L::epsilon() / 2, L::denorm_min(), L::min(), L::max()};
  };
  switch (type) {
    case DType::kF16:
      return small(kF16Format);
    case DType::kBF16:
      return small(kBF16Format);
    case DType::kF8E4M3:
      return small(kE4M3Format);
    case DType::kF8E5M2:
      return small(kE5M2Format);
    case DType::kF32:
      return standard(float{});
    case DType::kF64:
      return standard(double{});
    default:
      break;
  }
  COLL_CHECK(false, "only float types have a float format");
}

void fold_elements(DType type, RedOp op, std::span<const void* const> sources, uint32_t divisor, void* destination,
                   uint64_t count) {
  with_element(type, [&](auto e) {
    using E = decltype(e);
    for (uint64_t i = 0; i < count; ++i) {
      typename E::Accumulated sum = E::widen(load<typename E::Stored>(sources[0], i));
      for (size_t s = 1; s < sources.size(); ++s)
        sum = combine(op, sum, E::widen(load<typename E::Stored>(sources[s], i)));
      if (divisor != 0) sum = divide(sum, divisor);
      store(E::narrow(sum), destination, i);
    }
  });
}

void scale_elements(DType type, double factor, const void* source, void* destination, uint64_t count) {
  COLL_CHECK(is_float(type), "only floats are scaled");
  with_element(type, [&](auto e) {
    using E = decltype(e);
    using A = typename E::Accumulated;
    for (uint64_t i = 0; i < count; ++i) {
      A scaled = static_cast<A>(E::widen(load<typename E::Stored>(source, i)) * static_cast<A>(factor));
      store(E::narrow(scaled), destination, i);
    }
  });
}

bool equal_elements(DType type, const void* a, const void* b, uint64_t count, uint64_t* first_difference) {
  uint32_t bytes = size_bytes(type);
  if (count == 0 || std::memcmp(a, b, count * bytes) == 0) return true;
  for (uint64_t i = 0; i < count; ++i) {
    const char* x = static_cast<const char*>(a) + i * bytes;
    const char* y = static_cast<const char*>(b) + i * bytes;
    if (std::memcmp(x, y, bytes) == 0 || (is_nan(type, x) && is_nan(type, y))) continue;
    if (first_difference != nullptr) *first_difference = i;
    return false;
  }
  return true;
}

}  // namespace coll
