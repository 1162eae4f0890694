#pragma once
// Where one rank's thread sleeps when none of its lanes can go on.
//
// No lost wake-up, after Dekker: the sleeper announces itself, then looks at all conditions once more, then sleeps; a
// waker changes a condition, then looks whether somebody has announced himself. Both sides order their write before
// their read, so at least one of them sees the other: conditions (ring ends, counters) and `sleeping_` are therefore
// written with sequentially consistent operations (and not separated by fences, which ThreadSanitizer does not know).
// A waker pays one load while nobody sleeps.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace coll {

class alignas(64) Event {
 public:
  // Sleeper: prepare(); look again; then sleep() or cancel().
  void prepare() { sleeping_.store(1); }
  void cancel() { sleeping_.store(0); }
  void sleep(std::chrono::nanoseconds at_most);  // returns when woken, or late, or now and then for no reason

  // Waker, after its change: only a sleeper costs a system call.
  void wake() {
    if (sleeping_.load() != 0 && sleeping_.exchange(0) != 0) wake_sleeper();
  }

 private:
  void wake_sleeper();
  std::atomic<uint32_t> sleeping_{0};
};

}  // namespace coll
