#pragma once
// Checks of our own promises. A failed check is a bug in collc, never the user's fault: it says why and aborts.
#include <cstdio>
#include <cstdlib>

namespace coll {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "collc: internal check failed at %s:%d: %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace coll

#define COLL_CHECK(condition, why)                                               \
  do {                                                                           \
    if (!(condition)) ::coll::check_failed(__FILE__, __LINE__, #condition, why); \
  } while (0)
