#include "runtime/cpu/kernels.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "ir/support/check.h"
#include "runtime/cpu/kernel_table.h"

namespace coll::kernels {

namespace {

// Elements folded at a time where there is an intermediate: f32 or f64 accumulators and a converted source stay in L1.
constexpr uint64_t kBlock = 1024;

struct Choice {
  std::vector<Table> tables;  // the best first
  std::atomic<const Table*> chosen;
  Choice() {
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512) tables.push_back(avx512::table());
    if (avx2) tables.push_back(avx2::table());
#endif
    tables.push_back(portable::table());
    chosen = &tables.front();
  }
};

Choice& choice() {
  static Choice c;
  return c;
}

const Table& table() { return *choice().chosen.load(std::memory_order_relaxed); }

bool is_small(DType type) { return is_float(type) && size_bytes(type) < 4; }

// Element i of an array of a type.
const void* at(const void* p, uint64_t i, uint32_t bytes) { return static_cast<const char*>(p) + i * bytes; }
void* at(void* p, uint64_t i, uint32_t bytes) { return static_cast<char*>(p) + i * bytes; }

// A copy to a destination, in the way it asks for.
void write(const void* source, void* destination, bool streams, uint64_t bytes) {
  Stream stream = table().stream;
  if (!streams || stream == nullptr || bytes < 256) {
    std::memcpy(destination, source, bytes);
    return;
  }
  constexpr uint64_t kLine = 64;
  uint64_t head = (kLine - reinterpret_cast<uintptr_t>(destination) % kLine) % kLine;
  uint64_t body = (bytes - head) / kLine * kLine;
  std::memcpy(destination, source, head);
  stream(at(source, head, 1), at(destination, head, 1), body);
  uint64_t rest = head + body;
  std::memcpy(at(destination, rest, 1), at(source, rest, 1), bytes - rest);
}

// The general fold: in blocks, through an accumulator. All sources of a block are read before any of it is written.
void fold_in_blocks(DType type, RedOp op, std::span<const Source> sources, uint32_t divisor,
                    std::span<const Destination> destinations, uint64_t count) {
  const Table& t = table();
  bool small = is_small(type);
  auto accumulated = small ? DType::kF32 : type;
  uint32_t bytes = size_bytes(type);
  Fold2 combine = t.fold2[static_cast<int>(accumulated)][static_cast<int>(op)];
  COLL_CHECK(combine != nullptr, "an operator that the element type does not have");
  alignas(64) std::byte accumulator[kBlock * 8], widened[kBlock * 8], scaled[kBlock * 8];

  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    uint64_t n = std::min(kBlock, count - begin);
    // One source's block, scaled and widened as need be; into `room` if it has to be computed.
    auto block_of = [&](const Source& s, std::byte* room) {
      const void* from = at(s.data, begin, bytes);
      if (s.factor != nullptr) {
        scale(type, *s.factor, from, scaled, n);
        from = scaled;
      }
      if (small) {
        t.widen[static_cast<int>(type)](from, room, n);
        return static_cast<const void*>(room);
      }
      if (from == scaled) {
        std::memcpy(room, scaled, n * bytes);
        from = room;
      }
      return from;
    };
    const void* left = block_of(sources[0], accumulator);
    for (size_t s = 1; s < sources.size(); ++s) {
      combine(left, block_of(sources[s], widened), accumulator, n);
      left = accumulator;
    }
    if (left != accumulator) std::memcpy(accumulator, left, n * bytes);
    if (divisor != 0) t.divide[static_cast<int>(accumulated)](accumulator, divisor, n);
    const void* result = accumulator;
    if (small) {
      t.narrow[static_cast<int>(type)](accumulator, widened, n);
      result = widened;
    }
    for (const Destination& d : destinations) write(result, at(d.data, begin, bytes), d.streams, n * bytes);
  }
}

}  // namespace

void fold(DType type, RedOp op, std::span<const Source> sources, uint32_t divisor,
          std::span<const Destination> destinations, uint64_t count) {
  bool direct = sources.size() == 2 && divisor == 0 && !is_small(type) && sources[0].factor == nullptr &&
                sources[1].factor == nullptr;
  if (!direct) return fold_in_blocks(type, op, sources, divisor, destinations, count);
  Fold2 combine = table().fold2[static_cast<int>(type)][static_cast<int>(op)];
  COLL_CHECK(combine != nullptr, "an operator that the element type does not have");
  if (destinations.size() == 1 && !destinations[0].streams)
    return combine(sources[0].data, sources[1].data, destinations[0].data, count);
  // One pass over memory: the result is made where it is to stay in the caches anyway, if there is such a destination,
  // and copied to the others from L1.
  uint32_t bytes = size_bytes(type);
  alignas(64) std::byte room[kBlock * 8];
  const Destination* kept = nullptr;
  for (const Destination& d : destinations)
    if (!d.streams && kept == nullptr) kept = &d;
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    uint64_t n = std::min(kBlock, count - begin);
    void* result = kept != nullptr ? at(kept->data, begin, bytes) : room;
    combine(at(sources[0].data, begin, bytes), at(sources[1].data, begin, bytes), result, n);
    for (const Destination& d : destinations)
      if (&d != kept) write(result, at(d.data, begin, bytes), d.streams, n * bytes);
  }
}

void scale(DType type, double factor, const void* source, void* destination, uint64_t count) {
  const Table& t = table();
  if (!is_small(type)) return t.scale[static_cast<int>(type)](source, factor, destination, count);
  uint32_t bytes = size_bytes(type);
  alignas(64) float wide[kBlock];
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    uint64_t n = std::min(kBlock, count - begin);
    t.widen[static_cast<int>(type)](at(source, begin, bytes), wide, n);
    t.scale[static_cast<int>(DType::kF32)](wide, factor, wide, n);
    t.narrow[static_cast<int>(type)](wide, at(destination, begin, bytes), n);
  }
}

void copy(const void* source, Destination destination, uint64_t bytes) {
  if (source != destination.data) write(source, destination.data, destination.streams, bytes);
}

const char* instruction_set() { return table().name; }

bool force(const char* instruction_set) {
  for (const Table& t : choice().tables) {
    if (std::strcmp(t.name, instruction_set) != 0) continue;
    choice().chosen = &t;
    return true;
  }
  return false;
}

}  // namespace coll::kernels
