// The executor's loops against ir/arithmetic.h, for every instruction set that this CPU has.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ir/arithmetic.h"
#include "runtime/cpu/kernels.h"

namespace coll {
namespace {

using Array = std::vector<unsigned char>;

// All bit patterns of 8- and 16-bit types occur; wider ones are random bits with special values strewn in.
Array random_elements(DType type, uint64_t count, uint64_t seed) {
  uint32_t bytes = size_bytes(type);
  Array a(count * bytes);
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = bytes <= 2 ? i * (2 * seed + 1) + seed * 77 : random();
    if (bytes >= 4 && is_float(type)) {
      const double special[] = {0.0, -0.0, 1.0, INFINITY, -INFINITY, NAN, 1e-310, 3e38, 1e-40};
      if (random() % 4 == 0) {
        store_double(type, special[random() % 9], &a[i * bytes]);
        continue;
      }
      if (random() % 2 == 0) {  // of like size, so that sums round
        store_double(type, static_cast<double>(static_cast<int64_t>(random())) * 0x1p-60, &a[i * bytes]);
        continue;
      }
    }
    std::memcpy(&a[i * bytes], &bits, bytes);
  }
  return a;
}

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    before_ = kernels::instruction_set();
    if (!kernels::force(GetParam())) GTEST_SKIP() << "this CPU has no " << GetParam();
  }
  void TearDown() override { kernels::force(before_); }
  const char* before_ = "";
};

TEST_P(Kernels, FoldsLikeTheReference) {
  for (int t = 0; t < kDTypeCount; ++t)
    for (int o = 0; o < kRedOpCount; ++o) {
      auto type = static_cast<DType>(t);
      auto op = static_cast<RedOp>(o);
      if (!supports(op, type)) continue;
      uint32_t bytes = size_bytes(type);
      for (uint64_t count : {0u, 1u, 7u, 64u, 1023u, 1025u, 66000u}) {
        std::vector<Array> arrays;
        for (uint64_t s = 0; s < 4; ++s) arrays.push_back(random_elements(type, count, s + 1));
        for (size_t n : {1u, 2u, 3u, 4u})
          for (uint32_t divisor : op == RedOp::kAvg ? std::vector<uint32_t>{0, 3} : std::vector<uint32_t>{0}) {
            std::vector<const void*> plain;
            std::vector<kernels::Source> sources;
            for (size_t s = 0; s < n; ++s) {
              plain.push_back(arrays[s].data());
              sources.push_back({arrays[s].data(), nullptr});
            }
            Array expected(count * bytes), got(count * bytes), also(count * bytes);
            fold_elements(type, op, plain, divisor, expected.data(), count);
            std::vector<kernels::Destination> to = {{got.data(), false}};
            kernels::fold(type, op, sources, divisor, to, count);
            uint64_t at = 0;
            ASSERT_TRUE(equal_elements(type, expected.data(), got.data(), count, &at))
                << name(type) << " " << name(op) << " " << n << " sources, element " << at << " of " << count;
            // Two destinations, one of which is the last source.
            Array own = arrays[n - 1];
            sources[n - 1].data = own.data();
            Array around(count * bytes + 3);
            to = {{also.data(), true}, {own.data(), false}, {around.data() + 3, true}};
            kernels::fold(type, op, sources, divisor, to, count);
            ASSERT_TRUE(equal_elements(type, expected.data(), also.data(), count));
            ASSERT_TRUE(equal_elements(type, expected.data(), own.data(), count));
            ASSERT_TRUE(equal_elements(type, expected.data(), around.data() + 3, count));
          }
      }
    }
}

TEST_P(Kernels, ScalesLikeTheReference) {
  for (DType type : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kF8E4M3, DType::kF8E5M2}) {
    uint64_t count = 66000;
    uint32_t bytes = size_bytes(type);
    Array a = random_elements(type, count, 1), b = random_elements(type, count, 2);
    for (double factor : {1.0, 0.3, -1e-3, 1e5}) {
      Array expected(count * bytes), got(count * bytes), scaled = b;
      scale_elements(type, factor, a.data(), expected.data(), count);
      kernels::scale(type, factor, a.data(), got.data(), count);
      uint64_t at = 0;
      ASSERT_TRUE(equal_elements(type, expected.data(), got.data(), count, &at)) << name(type) << " " << at;
      // Scaled as it is read, by a fold: round, then add.
      scale_elements(type, factor, b.data(), scaled.data(), count);
      std::vector<const void*> plain = {a.data(), scaled.data()};
      fold_elements(type, RedOp::kPremul, plain, 0, expected.data(), count);
      std::vector<kernels::Source> sources = {{a.data(), nullptr}, {b.data(), &factor}};
      std::vector<kernels::Destination> to = {{got.data(), false}};
      kernels::fold(type, RedOp::kPremul, sources, 0, to, count);
      ASSERT_TRUE(equal_elements(type, expected.data(), got.data(), count, &at)) << name(type) << " " << at;
      sources = {{b.data(), &factor}, {a.data(), nullptr}};
      kernels::fold(type, RedOp::kPremul, sources, 0, to, count);
      ASSERT_TRUE(equal_elements(type, expected.data(), got.data(), count, &at)) << name(type) << " " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, Kernels, testing::Values("portable", "avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace coll
