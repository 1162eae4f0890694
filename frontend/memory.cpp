#include "frontend/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace coll {

uint64_t available_memory_bytes() {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  uint64_t bytes = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : UINT64_MAX;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string word; meminfo >> word;) {
    uint64_t kib = 0;
    if (word == "MemAvailable:" && meminfo >> kib) bytes = std::min(bytes, kib << 10);
  }
  uint64_t group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group) bytes = std::min(bytes, group);  // "max" is not a number
  return bytes;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, available_memory_bytes());
  (void)setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace coll
