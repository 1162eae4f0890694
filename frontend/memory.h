#pragma once
// How much memory this process may take.
#include <cstdint>

namespace coll {

// Bytes that can be had now without driving others out: what the kernel calls available, and the control group's limit.
uint64_t available_memory_bytes();

// Makes an allocation past the available memory fail, so that asking for a world of a billion ranks ends in a sentence
// and not in the kernel's out-of-memory killer, which may also choose somebody else. Not under a sanitizer, whose
// shadow memory alone is past any such limit.
void limit_memory();

}  // namespace coll
