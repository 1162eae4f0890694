// The loops for any CPU.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/cpu/kernel_table.h"

namespace coll::kernels::portable {

#include "runtime/cpu/kernel_loops.inc"

Table table() { return make_table("portable"); }

}  // namespace coll::kernels::portable
