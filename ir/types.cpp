#include "ir/types.h"

namespace coll {

namespace {

struct DTypeRow {
  const char* name;
  uint32_t bytes;
  bool floating;
};
constexpr DTypeRow kDTypes[kDTypeCount] = {
    {"f16", 2, true}, {"bf16", 2, true}, {"f32", 4, true},  {"f64", 8, true},  {"f8e4m3", 1, true}, {"f8e5m2", 1, true},
    {"i8", 1, false}, {"u8", 1, false},  {"i32", 4, false}, {"u32", 4, false}, {"i64", 8, false},   {"u64", 8, false}};
constexpr const char* kRedOps[kRedOpCount] = {"sum", "prod", "min", "max", "avg", "premul", "band", "bor", "bxor"};

}  // namespace

uint32_t size_bytes(DType t) { return kDTypes[static_cast<int>(t)].bytes; }
bool is_float(DType t) { return kDTypes[static_cast<int>(t)].floating; }
const char* name(DType t) { return kDTypes[static_cast<int>(t)].name; }
const char* name(RedOp op) { return kRedOps[static_cast<int>(op)]; }

std::optional<DType> parse_dtype(std::string_view s) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (s == kDTypes[i].name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<RedOp> parse_redop(std::string_view s) {
  for (int i = 0; i < kRedOpCount; ++i)
    if (s == kRedOps[i]) return static_cast<RedOp>(i);
  return std::nullopt;
}

bool supports(RedOp op, DType t) {
  if (op == RedOp::kBand || op == RedOp::kBor || op == RedOp::kBxor) return !is_float(t);
  if (op == RedOp::kPremul) return is_float(t);
  return true;
}

}  // namespace coll
