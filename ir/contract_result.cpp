// What a contract defines, straight from the inputs. No plan, no tiles, no instruction: a second opinion.
//
// How far a right result may be from it. Let x_i be the n inputs of an element (after premul's scaling and rounding,
// which every plan does alike), u the unit roundoff of the element type, S = sum |x_i|. A plan may round every partial
// sum to the element type, in any order: at most n - 1 partial sums, each no larger than S (1 + u)^n, each rounding
// off at most u of it, or half the smallest positive value where it is subnormal (half of that again in f32). One
// more rounding is that of the expected value itself, and one that of avg's division. So
//     bound = (n + 1) (u (1 + u)^n S + smallest)   [doubled for f64, whose reference rounds as well]
// divided by the divisor for avg, with 2 u |result| + smallest more. A product of n is off by at most (n + 1) u
// (1 + u)^(n+1) |p|, and where a product of some of the factors can be subnormal, by n + 1 times the smallest value
// times the largest product of others. A sum is exact in any order, and the bound 0, where all inputs are multiples of
// a power of two q and S / q has no more bits than the type's significand.
// Where a partial result may pass the largest finite value the order decides between a number and infinity (or
// saturation): then nothing can be said, the bound is infinite. min, max, integers and copies are exact.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/interpret.h"

namespace coll {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct FloatResult {
  double value = 0, bound = 0;
};

// Exponent of the lowest bit that is set in a finite number other than 0.
int lowest_bit(double x) {
  int exponent = 0;
  auto significand = static_cast<uint64_t>(std::ldexp(std::fabs(std::frexp(x, &exponent)), 53));
  return exponent - 53 + std::countr_zero(significand);
}

FloatResult sum_of(const std::vector<double>& x, const FloatFormat& f, bool saturates, bool is_f64, uint32_t divisor) {
  double sum = 0, magnitude = 0;
  bool infinite = false;
  for (size_t i = 0; i < x.size(); ++i) {
    sum = i == 0 ? x[i] : sum + x[i];
    magnitude += std::fabs(x[i]);
    infinite = infinite || std::isinf(x[i]);
  }
  double n = static_cast<double>(x.size());
  FloatResult r{divisor != 0 ? sum / divisor : sum, 0};
  if (std::isnan(sum) || (infinite && !saturates)) return r;
  double growth = std::pow(1 + f.unit_roundoff, n);
  if (magnitude * growth > f.largest) return {r.value, kInfinity};
  if (x.size() == 1 && divisor <= 1) return r;
  int quantum = std::numeric_limits<int>::max();
  for (double v : x)
    if (v != 0) quantum = std::min(quantum, lowest_bit(v));
  bool exact = magnitude == 0 || magnitude <= std::ldexp(1 / f.unit_roundoff, quantum);
  r.bound = exact ? 0 : (n + 1) * (f.unit_roundoff * growth * magnitude + f.smallest) * (is_f64 ? 2 : 1);
  if (divisor != 0) r.bound = r.bound / divisor + 2 * f.unit_roundoff * std::fabs(r.value) + f.smallest;
  return r;
}

FloatResult product_of(const std::vector<double>& x, const FloatFormat& f, bool is_f64) {
  double product = 1, largest = 1, smallest = 1;
  bool finite = true;
  for (size_t i = 0; i < x.size(); ++i) {
    product = i == 0 ? x[i] : product * x[i];
    double magnitude = std::fabs(x[i]);
    if (magnitude > 1) largest *= magnitude;
    if (magnitude < 1) smallest *= magnitude;
    finite = finite && std::isfinite(x[i]);
  }
  double n = static_cast<double>(x.size());
  FloatResult r{product, 0};
  for (double v : x)
    if (std::isnan(v)) return r;
  if (x.size() == 1) return r;
  double growth = std::pow(1 + f.unit_roundoff, n + 1);
  // With a zero or an infinity among the factors, an intermediate overflow or underflow makes another NaN or none.
  if (!finite || largest * growth > f.largest) return {product, kInfinity};
  r.bound = std::fabs(product) * (n + 1) * f.unit_roundoff * growth * (is_f64 ? 2 : 1);
  if (smallest < f.smallest_normal * growth) r.bound += (n + 1) * f.smallest * largest;
  return r;
}

class Reference {
 public:
  Reference(const CallSpec& spec, bool scales)
      : spec_(spec), scales_(scales), type_(spec.sizes.dtype), bytes_(size_bytes(type_)) {}

  // One element of a contribution, as a plan would first read it.
  const void* contribution(const void* element, uint32_t rank) {
    if (!scales_) return element;
    scale_elements(type_, spec_.premul[rank], element, scaled_, 1);
    return scaled_;
  }

  void reduce(const std::vector<const std::byte*>& sources, const std::vector<uint32_t>& ranks, uint64_t i,
              std::byte* out, double* bound) {
    auto divisor = spec_.op == RedOp::kAvg ? static_cast<uint32_t>(sources.size()) : 0u;
    bool arithmetic =
        spec_.op == RedOp::kSum || spec_.op == RedOp::kAvg || spec_.op == RedOp::kPremul || spec_.op == RedOp::kProd;
    *bound = 0;
    if (is_float(type_) && arithmetic) {
      values_.clear();
      for (size_t s = 0; s < sources.size(); ++s)
        values_.push_back(load_as_double(type_, contribution(sources[s] + i * bytes_, ranks[s])));
      FloatFormat f = float_format(type_);
      bool saturates = type_ == DType::kF8E5M2;
      bool is_f64 = type_ == DType::kF64;
      FloatResult r =
          spec_.op == RedOp::kProd ? product_of(values_, f, is_f64) : sum_of(values_, f, saturates, is_f64, divisor);
      store_double(type_, r.value, out);
      *bound = r.bound;
      return;
    }
    // Exact whatever the order; a fold one by one, since the sums wrap at the element's width.
    pieces_.clear();
    for (const std::byte* s : sources) pieces_.push_back(s + i * bytes_);
    fold_elements(type_, spec_.op, pieces_, divisor, out, 1);
  }

 private:
  const CallSpec& spec_;
  bool scales_;
  DType type_;
  uint32_t bytes_;
  std::byte scaled_[8];
  std::vector<double> values_;
  std::vector<const void*> pieces_;
};

}  // namespace

Status contract_result(const Contract& contract, const CallSpec& spec, uint32_t rank,
                       const std::vector<const void*>& ins, void* out, std::vector<double>* bound) {
  using Kind = Expectation::Kind;
  DType type = spec.sizes.dtype;
  uint32_t bytes = size_bytes(type);
  if (contract.reduces() && !supports(spec.op, type))
    return Status(StatusCode::kInvalid, std::string("operator ") + name(spec.op) + " is not defined for " + name(type));
  if (ins.size() != contract.ranks) return Status(StatusCode::kInvalid, "an input buffer for each rank is needed");
  bool scales = spec.op == RedOp::kPremul && contract.reduces();
  if (scales && spec.premul.size() != contract.ranks)
    return Status(StatusCode::kInvalid, "premul needs a factor for each rank");
  if (bound != nullptr) bound->clear();

  Reference reference(spec, scales);
  for (uint32_t block = 0; block < contract.out_blocks(rank); ++block) {
    uint64_t length = block_length(contract, spec.sizes, true, rank, block);
    auto* to = static_cast<std::byte*>(out) + block_offset(contract, spec.sizes, true, rank, block) * bytes;
    Expectation expectation = contract.expect(rank, block);
    std::vector<InBlock> from = expectation.list;
    if (expectation.all_ranks)
      for (uint32_t r = 0; r < contract.ranks; ++r) from.push_back({r, expectation.block});
    std::vector<const std::byte*> sources;
    std::vector<uint32_t> ranks;
    for (const InBlock& b : from) {
      auto* base = static_cast<const std::byte*>(ins[b.rank]);
      if (base == nullptr && length > 0)
        return Status(StatusCode::kInvalid, "rank " + std::to_string(b.rank) + " has no input buffer");
      sources.push_back(base == nullptr ? nullptr
                                        : base + block_offset(contract, spec.sizes, false, b.rank, b.block) * bytes);
      ranks.push_back(b.rank);
    }
    // A barrier counts contributions at least once: only an operator that does not mind repetition has one result.
    bool idempotent =
        spec.op == RedOp::kMin || spec.op == RedOp::kMax || spec.op == RedOp::kBand || spec.op == RedOp::kBor;
    for (uint64_t i = 0; i < length; ++i) {
      double b = 0;
      std::byte* element = to + i * bytes;
      if (expectation.kind == Kind::kAny || from.empty()) {
        std::memset(element, 0, bytes);
        b = kInfinity;
      } else if (expectation.kind == Kind::kCopy) {
        std::memcpy(element, reference.contribution(sources[0] + i * bytes, ranks[0]), bytes);
      } else {
        reference.reduce(sources, ranks, i, element, &b);
        if (expectation.kind == Kind::kCovered && !idempotent) b = kInfinity;
      }
      if (bound != nullptr) bound->push_back(b);
    }
  }
  return {};
}

}  // namespace coll
