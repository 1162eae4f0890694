#pragma once
// The .npy files of NumPy, as much as arrays of our element types need: format versions 1 to 3, C order, little endian.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/report.h"
#include "ir/types.h"

namespace coll {

struct NpyArray {
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  std::string text;   // the whole file
  size_t offset = 0;  // where the elements begin
  uint64_t elements() const;
  const void* data() const { return text.data() + offset; }
};

// `wanted`: the type that the user named. NumPy has no bf16 and no f8, so these are read from raw u2 / u1 (or void)
// elements when they are wanted; any other disagreement is reported.
std::optional<NpyArray> read_npy(const std::string& path, std::optional<DType> wanted, Report&);

Status write_npy(const std::string& path, DType, const std::vector<uint64_t>& shape, const void* data);

}  // namespace coll
