#pragma once
// A connection in memory: a ring of k message slots with one writing and one reading lane.
//
// A message is either in its slot or, where the sender's memory cannot change before the reader has it, still in that
// memory ("shared", see sharing.h): the slot then only says where. `published` and `released` count for ever; each end
// keeps a copy of the other's count on its own cache line and looks at the original only when the copy says "blocked".
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coll {

struct alignas(64) Message {
  const std::byte* data = nullptr;
  uint64_t bytes = 0;
};

class Ring {
 public:
  // Only while no rank runs.
  void resize(uint32_t slots, std::byte* memory, uint64_t slot_bytes) {
    messages_.resize(slots);
    memory_ = memory;
    slot_bytes_ = slot_bytes;
  }

  // Writing end.
  bool can_write() {
    uint64_t mine = published_.load(std::memory_order_relaxed);
    if (mine - released_seen_ < messages_.size()) return true;
    released_seen_ = released_.load();
    return mine - released_seen_ < messages_.size();
  }
  std::byte* slot() { return memory_ + published_.load(std::memory_order_relaxed) % messages_.size() * slot_bytes_; }
  void publish(const std::byte* data, uint64_t bytes) {
    uint64_t mine = published_.load(std::memory_order_relaxed);
    messages_[mine % messages_.size()] = {data, bytes};
    published_.store(mine + 1);
  }
  // All messages so far have been taken and released.
  bool drained() {
    uint64_t mine = published_.load(std::memory_order_relaxed);
    if (released_seen_ != mine) released_seen_ = released_.load();
    return released_seen_ == mine;
  }

  // Reading end.
  bool can_read() {
    uint64_t mine = released_.load(std::memory_order_relaxed);
    if (mine != published_seen_) return true;
    published_seen_ = published_.load();
    return mine != published_seen_;
  }
  const Message& front() const { return messages_[released_.load(std::memory_order_relaxed) % messages_.size()]; }
  void release() { released_.store(released_.load(std::memory_order_relaxed) + 1); }

 private:
  alignas(64) std::atomic<uint64_t> published_{0};
  uint64_t released_seen_ = 0;
  alignas(64) std::atomic<uint64_t> released_{0};
  uint64_t published_seen_ = 0;
  alignas(64) std::vector<Message> messages_;
  std::byte* memory_ = nullptr;
  uint64_t slot_bytes_ = 0;
};

}  // namespace coll
