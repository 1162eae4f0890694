#include "frontend/npy.h"

#include <fmt/format.h>

#include <cstring>

#include "frontend/diagnostics.h"
#include "frontend/load.h"
#include "ir/support/check.h"

namespace coll {

namespace {

constexpr char kMagic[] = "\x93NUMPY";

const char* descriptor(DType t) {
  switch (t) {
    case DType::kF16:
      return "<f2";
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
    case DType::kBF16:
      return "<u2";
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kU8:
      return "|u1";
    case DType::kI8:
      return "|i1";
    case DType::kI32:
      return "<i4";
    case DType::kU32:
      return "<u4";
    case DType::kI64:
      return "<i8";
    case DType::kU64:
      return "<u8";
  }
  COLL_CHECK(false, "an element type without a descriptor");
}

// Types that NumPy has under their own name.
std::optional<DType> type_of(std::string_view kind_and_size) {
  for (DType t : {DType::kF16, DType::kF32, DType::kF64, DType::kI8, DType::kU8, DType::kI32, DType::kU32, DType::kI64,
                  DType::kU64})
    if (kind_and_size == descriptor(t) + 1) return t;
  return std::nullopt;
}

bool is_raw_of(std::string_view kind_and_size, DType t) {
  if (t == DType::kBF16) return kind_and_size == "u2" || kind_and_size == "V2";
  if (t == DType::kF8E4M3 || t == DType::kF8E5M2) return kind_and_size == "u1" || kind_and_size == "V1";
  return false;
}

// The value of a key in the header, a Python dictionary literal: a quoted string without its quotes, or the text up to
// the comma or brace that ends it, brackets kept whole.
std::optional<std::string> value_of(const std::string& header, const std::string& key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) at = header.find("\"" + key + "\"");
  if (at == std::string::npos) return std::nullopt;
  at = header.find(':', at);
  if (at == std::string::npos) return std::nullopt;
  at = header.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos) return std::nullopt;
  char first = header[at];
  size_t end = std::string::npos;
  if (first == '\'' || first == '"') {
    end = header.find(first, ++at);
  } else if (first == '(') {
    end = header.find(')', ++at);
  } else if (first == '[') {
    end = header.find(']', at);
  } else {
    end = header.find_first_of(",}", at);
  }
  if (end == std::string::npos) return std::nullopt;
  return header.substr(at, end - at);
}

// "3, 4" or "3," or "" -> lengths.
std::optional<std::vector<uint64_t>> shape_of(const std::string& text) {
  std::vector<uint64_t> shape;
  size_t at = 0;
  while (true) {
    at = text.find_first_not_of(" \t,", at);
    if (at == std::string::npos) return shape;
    size_t end = text.find_first_not_of("0123456789", at);
    if (end == at || (end == std::string::npos ? text.size() : end) - at > 18) return std::nullopt;
    shape.push_back(std::stoull(text.substr(at, end - at)));
    if (end == std::string::npos) return shape;
    at = text.find_first_not_of("L \t", end);  // Python 2 wrote 3L
    if (at != std::string::npos && text[at] != ',') return std::nullopt;
  }
}

// Product of the lengths; nullopt when it does not fit 62 bits.
std::optional<uint64_t> product(const std::vector<uint64_t>& shape) {
  unsigned __int128 n = 1;
  for (uint64_t d : shape) {
    n *= d;
    if (n >> 62 != 0) return std::nullopt;
  }
  return static_cast<uint64_t>(n);
}

// "" when the file is good.
std::string parse(NpyArray& a, std::optional<DType> wanted, std::string& hint) {
  const std::string& text = a.text;
  if (text.size() < 10 || text.compare(0, 6, kMagic) != 0) return "is not a .npy file";
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  size_t version = byte(6), start = 0, length = 0;
  if (version == 1) {
    start = 10;
    length = byte(8) | byte(9) << 8;
  } else if ((version == 2 || version == 3) && text.size() >= 12) {
    start = 12;
    length = byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  } else {
    return fmt::format("has .npy version {}, which is not known", version);
  }
  if (length > text.size() - start) return "ends inside its header";
  std::string header = text.substr(start, length);
  std::optional<std::string> descr = value_of(header, "descr"), order = value_of(header, "fortran_order"),
                             shape = value_of(header, "shape");
  if (!descr || !order || !shape) return "has a header without descr, fortran_order and shape";
  std::optional<std::vector<uint64_t>> lengths = shape_of(*shape);
  if (!lengths) return fmt::format("has the shape ({}), which cannot be read", *shape);
  a.shape = *lengths;
  std::optional<uint64_t> n = product(a.shape);
  if (!n) return "has a shape too large for any memory";
  if (order->starts_with("True") && a.shape.size() > 1) {
    hint = "save it with numpy.ascontiguousarray";
    return "is in Fortran order; arrays are read in C order";
  }
  if (descr->size() < 3) return fmt::format("has elements of type `{}`, which collc does not have", *descr);
  if ((*descr)[0] == '>') {
    hint = "save it with a.astype(a.dtype.newbyteorder('<'))";
    return "is big-endian; arrays are read little-endian";
  }
  std::string kind = descr->substr(1);
  std::optional<DType> native = type_of(kind);
  if (wanted && is_raw_of(kind, *wanted)) {
    a.dtype = *wanted;
  } else if (native) {
    a.dtype = *native;
    if (wanted && *wanted != *native) {
      hint = "leave out --dtype, or convert the array";
      return fmt::format("has elements of type {}, not {}", name(*native), name(*wanted));
    }
  } else {
    hint = "types of collc are f2 f4 f8 i1 u1 i4 u4 i8 u8, and raw u2 or u1 with `--dtype bf16`, `f8e4m3` or `f8e5m2`";
    return fmt::format("has elements of type `{}`, which collc does not have", *descr);
  }
  a.offset = start + length;
  uint64_t bytes = text.size() - a.offset;
  if (bytes % size_bytes(a.dtype) != 0 || bytes / size_bytes(a.dtype) != *n)
    return fmt::format("has {} bytes of elements where its shape needs {} x {}", bytes, *n, size_bytes(a.dtype));
  return {};
}

}  // namespace

uint64_t NpyArray::elements() const { return product(shape).value_or(0); }

std::optional<NpyArray> read_npy(const std::string& path, std::optional<DType> wanted, Report& report) {
  NpyArray a;
  if (Status status = read_text(path, a.text); !status.ok()) {
    report.fail(status);
    return std::nullopt;
  }
  std::string hint;
  if (std::string fault = parse(a, wanted, hint); !fault.empty()) {
    report.diagnostics.error(diag::kCommandBadArray, {}, fmt::format("`{}` {}", path, fault), hint);
    return std::nullopt;
  }
  return a;
}

Status write_npy(const std::string& path, DType dtype, const std::vector<uint64_t>& shape, const void* data) {
  std::string lengths;
  uint64_t n = 1;
  for (uint64_t d : shape) {
    lengths += fmt::format("{}, ", d);
    n *= d;
  }
  if (shape.size() > 1) lengths.resize(lengths.size() - 2);  // (3, 4) but (3,)
  if (shape.size() == 1) lengths.resize(lengths.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor(dtype), lengths);
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');  // elements begin at a multiple of 64
  header += '\n';
  std::string text(kMagic, 6);
  text += '\x01';
  text += '\x00';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  if (n != 0) text.append(static_cast<const char*>(data), n * size_bytes(dtype));
  return write_text(path, text);
}

}  // namespace coll
