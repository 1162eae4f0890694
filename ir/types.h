#pragma once
// Element types and reduction operators: run-time symbols, the same for every part of collc.
#include <cstdint>
#include <optional>
#include <string_view>

namespace coll {

enum class DType : uint8_t { kF16, kBF16, kF32, kF64, kF8E4M3, kF8E5M2, kI8, kU8, kI32, kU32, kI64, kU64 };
inline constexpr int kDTypeCount = 12;

enum class RedOp : uint8_t { kSum, kProd, kMin, kMax, kAvg, kPremul, kBand, kBor, kBxor };
inline constexpr int kRedOpCount = 9;

uint32_t size_bytes(DType);
bool is_float(DType);
const char* name(DType);  // "f16" "bf16" "f32" "f64" "f8e4m3" "f8e5m2" "i8" "u8" "i32" "u32" "i64" "u64"
const char* name(RedOp);  // "sum" "prod" "min" "max" "avg" "premul" "band" "bor" "bxor"
std::optional<DType> parse_dtype(std::string_view);
std::optional<RedOp> parse_redop(std::string_view);

// Bitwise operators need integers; premul needs a float type; everything else is defined for every type.
bool supports(RedOp, DType);

}  // namespace coll
