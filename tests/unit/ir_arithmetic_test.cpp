// Element arithmetic against independent references: the formats' definitions written out another way, the machine's
// own f32, and what the standards say of NaN, infinities and zeros.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/arithmetic.h"

namespace coll {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The value of a small float by its definition.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    if (has_infinity) return mantissa == 0 ? sign * kInf : kNan;
    if (mantissa == (1 << mantissa_bits) - 1) return kNan;
  }
  if (exponent == 0) return sign * mantissa * std::pow(2.0, 1 - bias - mantissa_bits);
  return sign * (1 + mantissa * std::pow(2.0, -mantissa_bits)) * std::pow(2.0, exponent - bias);
}

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  float (*widen)(uint32_t);
  uint32_t (*narrow)(double);
  double largest;
  bool saturates;
};
const Format kFormats[] = {
    {"f16", 5, 10, true, [](uint32_t b) { return f32_from_f16(static_cast<uint16_t>(b)); },
     [](double v) -> uint32_t { return f16_from_double(v); }, 65504, false},
    {"bf16", 8, 7, true, [](uint32_t b) { return f32_from_bf16(static_cast<uint16_t>(b)); },
     [](double v) -> uint32_t { return bf16_from_double(v); }, 0x1.fep127, false},
    {"f8e4m3", 4, 3, false, [](uint32_t b) { return f32_from_f8e4m3(static_cast<uint8_t>(b)); },
     [](double v) -> uint32_t { return f8e4m3_from_double(v); }, 448, true},
    {"f8e5m2", 5, 2, true, [](uint32_t b) { return f32_from_f8e5m2(static_cast<uint8_t>(b)); },
     [](double v) -> uint32_t { return f8e5m2_from_double(v); }, 57344, true},
};

TEST(SmallFloats, EveryBitPatternWidensToItsDefinitionAndRoundTrips) {
  for (const Format& f : kFormats) {
    SCOPED_TRACE(f.name);
    uint32_t patterns = 1u << (1 + f.exponent_bits + f.mantissa_bits);
    for (uint32_t b = 0; b < patterns; ++b) {
      double expected = value_of(b, f.exponent_bits, f.mantissa_bits, f.has_infinity);
      float widened = f.widen(b);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(widened)) << b;
        ASSERT_TRUE(std::isnan(f.widen(f.narrow(widened)))) << b;
      } else if (std::isinf(expected) && f.saturates) {
        ASSERT_EQ(widened, expected) << b;
        ASSERT_EQ(f.widen(f.narrow(widened)), std::copysign(f.largest, expected)) << b;
      } else {
        ASSERT_EQ(widened, expected) << b;
        ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << b;
        ASSERT_EQ(f.narrow(widened), b);
      }
    }
  }
}

// Between every two neighbours: the middle goes to the even one, anything else to the nearer.
TEST(SmallFloats, RoundToNearestEven) {
  for (const Format& f : kFormats) {
    SCOPED_TRACE(f.name);
    uint32_t magnitudes = 1u << (f.exponent_bits + f.mantissa_bits);
    uint32_t sign = magnitudes;
    for (uint32_t b = 0; b + 1 < magnitudes; ++b) {
      double low = value_of(b, f.exponent_bits, f.mantissa_bits, f.has_infinity);
      double high = value_of(b + 1, f.exponent_bits, f.mantissa_bits, f.has_infinity);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      double middle = (low + high) / 2;
      uint32_t even = (b & 1) == 0 ? b : b + 1;
      ASSERT_EQ(f.narrow(middle), even) << b;
      ASSERT_EQ(f.narrow(-middle), even | sign) << b;
      ASSERT_EQ(f.narrow(std::nextafter(middle, 0.0)), b) << b;
      ASSERT_EQ(f.narrow(std::nextafter(middle, kInf)), b + 1) << b;
      ASSERT_EQ(f.narrow(low + (high - low) * 0.25), b);
      ASSERT_EQ(f.narrow(low + (high - low) * 0.75), b + 1);
    }
  }
}

TEST(SmallFloats, Overflow) {
  EXPECT_EQ(f16_from_double(65519.99), 0x7bff);
  EXPECT_EQ(f16_from_double(65520), 0x7c00);
  EXPECT_EQ(f16_from_double(-1e30), 0xfc00);
  EXPECT_EQ(bf16_from_double(static_cast<double>(std::numeric_limits<float>::max())), 0x7f80);
  EXPECT_EQ(f8e4m3_from_double(464), 0x7e);
  EXPECT_EQ(f8e4m3_from_double(1e9), 0x7e);
  EXPECT_EQ(f8e4m3_from_double(-kInf), 0xfe);
  EXPECT_EQ(f8e5m2_from_double(61440), 0x7b);
  EXPECT_EQ(f8e5m2_from_double(kInf), 0x7b);
  EXPECT_EQ(f8e5m2_from_double(-kInf), 0xfb);
}

TEST(SmallFloats, SmallestAndUnderflow) {
  EXPECT_EQ(f16_from_double(0x1p-24), 1);
  EXPECT_EQ(f16_from_double(0x1p-25), 0);
  EXPECT_EQ(f16_from_double(0x1.8p-25), 1);
  EXPECT_EQ(f16_from_double(-0x1p-30), 0x8000);
  EXPECT_EQ(f8e4m3_from_double(0x1p-9), 1);
  EXPECT_EQ(f8e4m3_from_double(0x1p-10), 0);
  EXPECT_EQ(f8e5m2_from_double(0x1p-16), 1);
}

template <class T>
T fold(DType type, RedOp op, std::vector<T> x, uint32_t divisor = 0) {
  std::vector<const void*> sources;
  for (const T& v : x) sources.push_back(&v);
  T r{};
  fold_elements(type, op, sources, divisor, &r, 1);
  return r;
}

TEST(MinMax, NumbersWinOverNansAndZerosAreOrdered) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kMax, {nan, 1.0f}), 1.0f);
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kMax, {1.0f, nan}), 1.0f);
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kMin, {nan, -1.0f}), -1.0f);
  EXPECT_TRUE(std::isnan(fold<float>(DType::kF32, RedOp::kMin, {nan, nan})));
  for (auto [a, b] : {std::pair(0.0f, -0.0f), std::pair(-0.0f, 0.0f)}) {
    EXPECT_FALSE(std::signbit(fold<float>(DType::kF32, RedOp::kMax, {a, b})));
    EXPECT_TRUE(std::signbit(fold<float>(DType::kF32, RedOp::kMin, {a, b})));
  }
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kMax, {0x8000, 0x0000}), 0x0000);
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kMin, {0x0000, 0x8000}), 0x8000);
  EXPECT_EQ(fold<uint8_t>(DType::kF8E4M3, RedOp::kMin, {0x7f, 0x38}), 0x38);
  EXPECT_EQ(fold<int8_t>(DType::kI8, RedOp::kMin, {-128, 127}), -128);
  EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kMin, {128, 127}), 127);
}

TEST(Fold, AnyTwoEightBitFloatsAgreeWithArithmeticOnTheirValues) {
  for (const Format& f : {kFormats[2], kFormats[3]}) {
    DType type = f.mantissa_bits == 3 ? DType::kF8E4M3 : DType::kF8E5M2;
    for (uint32_t a = 0; a < 256; ++a)
      for (uint32_t b = 0; b < 256; ++b) {
        double x = value_of(a, f.exponent_bits, f.mantissa_bits, f.has_infinity);
        double y = value_of(b, f.exponent_bits, f.mantissa_bits, f.has_infinity);
        auto pair = std::vector<uint8_t>{static_cast<uint8_t>(a), static_cast<uint8_t>(b)};
        auto check = [&](RedOp op, double exact) {
          uint8_t got = fold<uint8_t>(type, op, pair);
          uint8_t expected = static_cast<uint8_t>(f.narrow(exact));
          ASSERT_TRUE(equal_elements(type, &got, &expected, 1)) << a << " " << b << " " << name(op);
        };
        check(RedOp::kSum, x + y);  // exact in double
        check(RedOp::kProd, x * y);
        check(RedOp::kMax, std::isnan(x) ? y : std::isnan(y) ? x : x == y ? (std::signbit(x) ? y : x) : std::max(x, y));
        check(RedOp::kMin, std::isnan(x) ? y : std::isnan(y) ? x : x == y ? (std::signbit(x) ? x : y) : std::min(x, y));
      }
  }
}

TEST(Fold, AnyTwoBytesAgreeWithModularArithmetic) {
  for (uint32_t a = 0; a < 256; ++a)
    for (uint32_t b = 0; b < 256; ++b) {
      auto u = std::vector<uint8_t>{static_cast<uint8_t>(a), static_cast<uint8_t>(b)};
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kSum, u), (a + b) % 256);
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kProd, u), (a * b) % 256);
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kBand, u), a & b);
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kBor, u), a | b);
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kBxor, u), a ^ b);
      EXPECT_EQ(fold<uint8_t>(DType::kU8, RedOp::kAvg, u, 2), (a + b) % 256 / 2);
      auto x = static_cast<int8_t>(a), y = static_cast<int8_t>(b);
      int wrapped = (x + y + 128 + 256) % 256 - 128;
      EXPECT_EQ(fold<int8_t>(DType::kI8, RedOp::kSum, {x, y}), wrapped);
      EXPECT_EQ(fold<int8_t>(DType::kI8, RedOp::kAvg, {x, y}, 2), wrapped / 2);
      EXPECT_EQ(fold<int8_t>(DType::kI8, RedOp::kMax, {x, y}), std::max(x, y));
    }
}

TEST(Fold, WideIntegersWrap) {
  EXPECT_EQ(fold<int32_t>(DType::kI32, RedOp::kSum, {INT32_MAX, 1}), INT32_MIN);
  EXPECT_EQ(fold<int64_t>(DType::kI64, RedOp::kSum, {INT64_MIN, -1}), INT64_MAX);
  EXPECT_EQ(fold<int32_t>(DType::kI32, RedOp::kProd, {INT32_MIN, -1}), INT32_MIN);
  EXPECT_EQ(fold<uint64_t>(DType::kU64, RedOp::kProd, {UINT64_MAX, UINT64_MAX}), 1u);
  EXPECT_EQ(fold<int32_t>(DType::kI32, RedOp::kAvg, {-4, -3}, 2), -3);  // toward zero
  EXPECT_EQ(fold<uint64_t>(DType::kU64, RedOp::kAvg, {UINT64_MAX - 1, 0}, 2), (UINT64_MAX - 1) / 2);
}

// 2048 + 1 + 1 + 1: with a rounding at every step f16 would stay at 2048.
TEST(Fold, SmallFloatsAreRoundedOnceForAnInstruction) {
  auto h = [](double v) { return f16_from_double(v); };
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kSum, {h(2048), h(1), h(1), h(1)}), h(2052));
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kSum, {h(2048), h(1)}), h(2048));
  // An intermediate beyond the largest value is none as long as it stays in f32.
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kSum, {h(65504), h(65504), h(-65504)}), h(65504));
  // avg divides before the rounding.
  EXPECT_EQ(fold<uint16_t>(DType::kF16, RedOp::kAvg, {h(65504), h(65504)}, 2), h(65504));
}

TEST(Fold, F32RoundsAtEveryStepFromTheLeft) {
  float big = 0x1p24f;
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kSum, {big, 1.0f, 1.0f}), big);
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kSum, {1.0f, 1.0f, big}), big + 2);
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kAvg, {1.0f, 0.0f, 0.0f}, 3), 1.0f / 3.0f);
  float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kSum, {tiny, tiny}), 2 * tiny);  // subnormals kept
}

TEST(Fold, SumOfInfinities) {
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(fold<float>(DType::kF32, RedOp::kSum, {inf, -inf})));
  EXPECT_EQ(fold<float>(DType::kF32, RedOp::kSum, {inf, 1.0f}), inf);
  EXPECT_EQ(fold<uint8_t>(DType::kF8E5M2, RedOp::kSum, {0x7c, 0x00}), 0x7b);  // no instruction makes its infinity
}

TEST(Scale, RoundsToTheElementType) {
  uint16_t x = f16_from_double(3), y = 0;
  scale_elements(DType::kF16, 1.0 / 3, &x, &y, 1);
  EXPECT_EQ(y, f16_from_double(static_cast<double>(3.0f * static_cast<float>(1.0 / 3))));
  double d = 7, e = 0;
  scale_elements(DType::kF64, 0.1, &d, &e, 1);
  EXPECT_EQ(e, 7 * 0.1);
  float f = 7, g = 0;
  scale_elements(DType::kF32, 0.1, &f, &g, 1);
  EXPECT_EQ(g, 7 * 0.1f);
}

TEST(Equal, AnyNanIsAnyNanAndZerosDiffer) {
  float a[] = {1, std::bit_cast<float>(0x7fc00000u)}, b[] = {1, std::bit_cast<float>(0xffc00001u)};
  EXPECT_TRUE(equal_elements(DType::kF32, a, b, 2));
  float c[] = {0.0f, 1.0f}, d[] = {0.0f, 2.0f}, e[] = {-0.0f, 1.0f};
  uint64_t at = 9;
  EXPECT_FALSE(equal_elements(DType::kF32, c, d, 2, &at));
  EXPECT_EQ(at, 1u);
  EXPECT_FALSE(equal_elements(DType::kF32, c, e, 2));
  EXPECT_FALSE(equal_elements(DType::kI32, a, b, 2));
}

}  // namespace
}  // namespace coll
