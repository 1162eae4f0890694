#pragma once
// Three ways to keep what a place holds. All of them know *what* is in it (contributions, each with how often it is
// counted) and, but for coverage, *how* it was made (the expression: folds of folds of leaves, each fold rounded once;
// a copy keeps both).
//
//   ExactAlgebra        interned sorted lists and interned expression nodes: equal ids mean equal contents, nothing is
//                       left to chance. A fold of sets of size s costs O(s) once for each distinct pair.
//   FingerprintAlgebra  contributions are a sum mod 2^128 of the contributions' mixed hashes. A sum, not an XOR: a
//                       contribution counted three times must not look like one counted once. Expressions are mixed
//                       hashes. 128 bits: among 10^9 places two differ unseen with a chance of about 10^-21.
//   CoverageAlgebra     which ranks' tokens have arrived, for barriers, where counting one twice does no harm.
//
// A fold's first two operands may change places (a commutative operator gives the same bits for a+b and b+a, not for
// (a+b)+c and a+(b+c)), so its expression is symmetric in those two.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace coll::verifier {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  bool operator<(const Hash128& o) const { return high != o.high ? high < o.high : low < o.low; }
};

inline uint64_t mix64(uint64_t x) {  // the finalizer of splitmix64, a bijection
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline Hash128 hash_leaf(uint64_t leaf) {
  return {mix64(leaf + 0x9e3779b97f4a7c15u), mix64(leaf * 0xd6e8feb86659fd93u + 0x2545f4914f6cdd1du)};
}

inline Hash128 hash_step(Hash128 state, Hash128 next) {
  uint64_t low = mix64(state.low ^ (next.low + 0x9e3779b97f4a7c15u));
  uint64_t high = mix64((state.high + next.high * 0xd6e8feb86659fd93u) ^ (low << 1));
  return {low ^ mix64(high + next.low), high};
}

inline Hash128 sum128(Hash128 a, Hash128 b) {
  uint64_t low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low ? 1 : 0)};
}

// Extent of the data in a place: which part of which grid, and in alltoallv which block's (its length is its own).
struct Extents {
  static uint64_t pack(uint64_t grid, uint64_t part, uint64_t pair) { return pair << 36 | grid << 24 | part; }
  static uint32_t part(uint64_t e) { return static_cast<uint32_t>(e & 0xffffff); }
  static uint32_t grid(uint64_t e) { return static_cast<uint32_t>(e >> 24 & 0xfff); }
  static uint32_t pair(uint64_t e) { return static_cast<uint32_t>(e >> 36); }
};
inline constexpr uint64_t kUnwrittenExtent = ~0ull;

class FingerprintAlgebra {
 public:
  static constexpr bool kExact = false;
  struct Value {
    Hash128 contributions, expression;
    uint64_t extent = kUnwrittenExtent;
  };
  Value leaf(uint32_t id) {
    Hash128 h = hash_leaf(id);
    return {h, h, 0};
  }
  Value fold(std::span<const Value> values) {
    Value result = values[0];
    Hash128 first = values[0].expression, second = values[1].expression;
    if (second < first) std::swap(first, second);
    Hash128 node = hash_step(hash_step({values.size(), 0x5bf0363546a2a5d1u}, first), second);
    result.contributions = sum128(result.contributions, values[1].contributions);
    for (const Value& v : values.subspan(2)) {
      node = hash_step(node, v.expression);
      result.contributions = sum128(result.contributions, v.contributions);
    }
    result.expression = node;
    return result;
  }
  // A sum made in an order of its own, as inside a switch: equal to no other.
  void make_unordered(Value& v, uint64_t instruction) {
    v.expression = hash_step(hash_leaf(~instruction), v.contributions);
  }
  bool same_contents(const Value& a, const Value& b) const { return a.contributions == b.contributions; }
  bool same(const Value& a, const Value& b) const {
    return a.contributions == b.contributions && a.expression == b.expression;
  }
  bool same_expression(const Value& a, const Value& b) const { return a.expression == b.expression; }

  // The contents that are expected: all of these leaves, each once.
  using Expected = Hash128;
  Expected expected(std::span<const uint32_t> leaves) {
    Hash128 sum;
    for (uint32_t leaf : leaves) sum = sum128(sum, hash_leaf(leaf));
    return sum;
  }
  bool holds(const Value& v, const Expected& e) const { return v.contributions == e; }
};

// Interned sequences of 64-bit words, with dense ids.
class Interner {
 public:
  Interner() : table_(1024, kEmpty) { offsets_.push_back(0); }
  std::span<const uint64_t> get(uint32_t id) const {
    return {words_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
  }
  uint32_t intern(std::span<const uint64_t> words) {
    uint64_t hash = words.size();
    for (uint64_t w : words) hash = mix64(hash ^ w) + 0x9e3779b97f4a7c15u;
    size_t mask = table_.size() - 1, at = hash & mask;
    for (; table_[at] != kEmpty; at = (at + 1) & mask) {
      std::span<const uint64_t> other = get(table_[at]);
      if (hashes_[table_[at]] == hash && std::equal(other.begin(), other.end(), words.begin(), words.end()))
        return table_[at];
    }
    auto id = static_cast<uint32_t>(hashes_.size());
    words_.insert(words_.end(), words.begin(), words.end());
    offsets_.push_back(words_.size());
    hashes_.push_back(hash);
    table_[at] = id;
    if (hashes_.size() * 2 > table_.size()) grow();
    return id;
  }

 private:
  static constexpr uint32_t kEmpty = 0xffffffffu;
  void grow() {
    table_.assign(table_.size() * 2, kEmpty);
    size_t mask = table_.size() - 1;
    for (uint32_t id = 0; id < hashes_.size(); ++id) {
      size_t at = hashes_[id] & mask;
      while (table_[at] != kEmpty) at = (at + 1) & mask;
      table_[at] = id;
    }
  }
  std::vector<uint64_t> words_;
  std::vector<size_t> offsets_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> table_;
};

class ExactAlgebra {
 public:
  static constexpr bool kExact = true;
  struct Value {
    uint32_t contributions = 0, expression = 0;
    uint64_t extent = kUnwrittenExtent;
  };
  ExactAlgebra() : memo_(1024) {}

  Value leaf(uint32_t id) {
    if (id >= leaves_.size()) leaves_.resize(id + 1);
    Value& value = leaves_[id];
    if (value.extent == kUnwrittenExtent) {
      uint64_t entry = static_cast<uint64_t>(id) << 32 | 1;
      value = {sets_.intern({&entry, 1}), nodes_.intern({&entry, 1}), 0};
    }
    return value;
  }
  Value fold(std::span<const Value> values) {
    Value result = values[0];
    // Tags in the first word keep leaves, folds and unordered sums apart: a leaf's has a count of 1 in its low half.
    words_.assign(1, kFold);
    for (const Value& v : values) words_.push_back(v.expression);
    if (words_[2] < words_[1]) std::swap(words_[1], words_[2]);
    result.expression = nodes_.intern(words_);
    for (const Value& v : values.subspan(1)) result.contributions = merge(result.contributions, v.contributions);
    return result;
  }
  void make_unordered(Value& v, uint64_t instruction) {
    uint64_t words[] = {kUnordered, instruction, v.contributions};
    v.expression = nodes_.intern(words);
  }
  bool same_contents(const Value& a, const Value& b) const { return a.contributions == b.contributions; }
  bool same(const Value& a, const Value& b) const {
    return a.contributions == b.contributions && a.expression == b.expression;
  }
  bool same_expression(const Value& a, const Value& b) const { return a.expression == b.expression; }

  using Expected = uint32_t;
  Expected expected(std::span<const uint32_t> leaves) {
    words_.clear();
    for (uint32_t leaf : leaves) words_.push_back(static_cast<uint64_t>(leaf) << 32 | 1);
    std::sort(words_.begin(), words_.end());
    return sets_.intern(words_);
  }
  bool holds(const Value& v, Expected e) const { return v.contributions == e; }

 private:
  static constexpr uint64_t kFold = 2, kUnordered = 3;
  struct Merge {
    uint32_t a = 0xffffffffu, b = 0xffffffffu, result = 0;
  };

  // Sorted (leaf, count) entries, counts added; a count stops at 2^32 - 1.
  uint32_t merge(uint32_t a, uint32_t b) {
    if (b < a) std::swap(a, b);
    size_t mask = memo_.size() - 1, at = mix64(static_cast<uint64_t>(a) << 32 | b) & mask;
    for (; memo_[at].a != 0xffffffffu; at = (at + 1) & mask)
      if (memo_[at].a == a && memo_[at].b == b) return memo_[at].result;
    std::span<const uint64_t> x = sets_.get(a), y = sets_.get(b);
    merged_.clear();
    size_t i = 0, j = 0;
    while (i < x.size() || j < y.size()) {
      uint64_t left = i < x.size() ? x[i] >> 32 : ~0ull, right = j < y.size() ? y[j] >> 32 : ~0ull;
      if (left < right) {
        merged_.push_back(x[i++]);
      } else if (right < left) {
        merged_.push_back(y[j++]);
      } else {
        uint64_t count = std::min<uint64_t>((x[i++] & 0xffffffffu) + (y[j++] & 0xffffffffu), 0xffffffffu);
        merged_.push_back(left << 32 | count);
      }
    }
    uint32_t result = sets_.intern(merged_);
    memo_[at] = {a, b, result};
    if (++memos_ * 2 > memo_.size()) {
      std::vector<Merge> old(memo_.size() * 2);
      old.swap(memo_);
      for (const Merge& m : old) {
        if (m.a == 0xffffffffu) continue;
        size_t slot = mix64(static_cast<uint64_t>(m.a) << 32 | m.b) & (memo_.size() - 1);
        while (memo_[slot].a != 0xffffffffu) slot = (slot + 1) & (memo_.size() - 1);
        memo_[slot] = m;
      }
    }
    return result;
  }

  Interner sets_, nodes_;
  std::vector<Value> leaves_;
  std::vector<Merge> memo_;
  size_t memos_ = 0;
  std::vector<uint64_t> words_, merged_;
};

class CoverageAlgebra {
 public:
  static constexpr bool kExact = true;
  struct Value {
    uint32_t set = 0;
    uint64_t extent = kUnwrittenExtent;
  };
  CoverageAlgebra(uint32_t leaves) : words_per_set_((leaves + 63) / 64) {}

  Value leaf(uint32_t id) {
    Value value{static_cast<uint32_t>(bits_.size() / words_per_set_), 0};
    bits_.resize(bits_.size() + words_per_set_, 0);
    bits_[bits_.size() - words_per_set_ + id / 64] |= 1ull << (id % 64);
    return value;
  }
  Value fold(std::span<const Value> values) {
    Value result = values[0];
    result.set = static_cast<uint32_t>(bits_.size() / words_per_set_);
    bits_.resize(bits_.size() + words_per_set_, 0);
    uint64_t* to = bits_.data() + bits_.size() - words_per_set_;
    for (const Value& v : values)
      for (size_t w = 0; w < words_per_set_; ++w) to[w] |= bits_[v.set * words_per_set_ + w];
    return result;
  }
  void make_unordered(Value&, uint64_t) {}
  bool same_contents(const Value& a, const Value& b) const {
    const uint64_t *x = &bits_[a.set * words_per_set_], *y = &bits_[b.set * words_per_set_];
    return std::equal(x, x + words_per_set_, y);
  }
  bool same(const Value& a, const Value& b) const { return same_contents(a, b); }
  bool same_expression(const Value&, const Value&) const { return true; }

  using Expected = std::vector<uint32_t>;
  Expected expected(std::span<const uint32_t> leaves) { return {leaves.begin(), leaves.end()}; }
  bool holds(const Value& v, const Expected& leaves) const {
    return std::all_of(leaves.begin(), leaves.end(),
                       [&](uint32_t leaf) { return bits_[v.set * words_per_set_ + leaf / 64] >> (leaf % 64) & 1; });
  }

 private:
  size_t words_per_set_;
  std::vector<uint64_t> bits_;
};

}  // namespace coll::verifier
