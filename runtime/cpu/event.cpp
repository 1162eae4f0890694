#include "runtime/cpu/event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace coll {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain 32-bit word");

void Event::sleep(std::chrono::nanoseconds at_most) {
  if (at_most.count() <= 0) return;
  timespec timeout{static_cast<time_t>(at_most.count() / 1'000'000'000),
                   static_cast<long>(at_most.count() % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&sleeping_), FUTEX_WAIT_PRIVATE, 1, &timeout, nullptr, 0);
}

void Event::wake_sleeper() {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&sleeping_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace coll
