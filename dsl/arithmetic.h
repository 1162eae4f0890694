#pragma once
// The language's integers: 64 bits, floor division and modulus, every overflow told. One place, so that the checker's
// constants and the elaborator agree.
#include <bit>
#include <cstdint>

#include "dsl/ast.h"

namespace coll::dsl {

enum class Fault : uint8_t {
  kNone,
  kOverflow,
  kDivisionByZero,
  kDomain,       // log2 of a number below 1, pow2 outside 0 .. 62
  kNodesDiffer,  // local
  kNode,         // node out of range
  kIndex,        // index in its node out of range
  kCallTooDeep,
  kTooMuch,  // past the limit on statements and calls
};

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
inline int64_t floor_mod(int64_t a, int64_t b) {
  int64_t m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

// Every operator but && and ||, which look at their right side only when they must; unary ones ignore b.
inline Fault apply(ast::Op op, int64_t a, int64_t b, int64_t& out) {
  using ast::Op;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &out) ? Fault::kOverflow : Fault::kNone;
    case Op::kSub:
      return __builtin_sub_overflow(a, b, &out) ? Fault::kOverflow : Fault::kNone;
    case Op::kMul:
      return __builtin_mul_overflow(a, b, &out) ? Fault::kOverflow : Fault::kNone;
    case Op::kDiv:
    case Op::kMod:
      if (b == 0) return Fault::kDivisionByZero;
      if (b == -1) {  // INT64_MIN / -1 does not exist, and traps
        if (op == Op::kMod) return out = 0, Fault::kNone;
        return __builtin_sub_overflow(int64_t{0}, a, &out) ? Fault::kOverflow : Fault::kNone;
      }
      out = op == Op::kDiv ? floor_div(a, b) : floor_mod(a, b);
      return Fault::kNone;
    case Op::kLess:
      out = a < b;
      break;
    case Op::kLessEqual:
      out = a <= b;
      break;
    case Op::kGreater:
      out = a > b;
      break;
    case Op::kGreaterEqual:
      out = a >= b;
      break;
    case Op::kEqual:
      out = a == b;
      break;
    case Op::kNotEqual:
      out = a != b;
      break;
    case Op::kAnd:
      out = a != 0 && b != 0;
      break;
    case Op::kOr:
      out = a != 0 || b != 0;
      break;
    case Op::kNegate:
      return __builtin_sub_overflow(int64_t{0}, a, &out) ? Fault::kOverflow : Fault::kNone;
    case Op::kNot:
      out = a == 0;
      break;
  }
  return Fault::kNone;
}

inline Fault apply_log2(int64_t a, int64_t& out) {
  if (a < 1) return Fault::kDomain;
  out = 63 - std::countl_zero(static_cast<uint64_t>(a));
  return Fault::kNone;
}

inline Fault apply_pow2(int64_t a, int64_t& out) {
  if (a < 0 || a > 62) return Fault::kDomain;
  out = int64_t{1} << a;
  return Fault::kNone;
}

}  // namespace coll::dsl
