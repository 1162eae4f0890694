#include "frontend/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "frontend/diagnostics.h"
#include "frontend/load.h"
#include "frontend/units.h"

namespace coll {

namespace {

// busbw / algbw.
std::optional<double> bus_factor(const Contract& c) {
  double n = c.ranks;
  switch (c.kind) {
    case ContractKind::kAllReduce:
      return 2 * (n - 1) / n;
    case ContractKind::kAllGather:
    case ContractKind::kReduceScatter:
    case ContractKind::kAllToAll:
    case ContractKind::kGather:
    case ContractKind::kScatter:
      return (n - 1) / n;
    case ContractKind::kReduce:
    case ContractKind::kBroadcast:
    case ContractKind::kSendRecv:
      return 1.0;
    case ContractKind::kAllToAllV:  // by counts, see workload_of_counts
    case ContractKind::kBarrier:
    case ContractKind::kCustom:
      break;
  }
  return std::nullopt;
}

}  // namespace

uint64_t blocks_of_size(const Contract& c) {
  if (c.kind == ContractKind::kCustom) return std::max<uint64_t>(1, c.buf_blocks());
  return c.buf_blocks();
}

Workload workload_of_size(const Contract& c, DType dtype, uint64_t size) {
  uint64_t count = size / size_bytes(dtype) / blocks_of_size(c);
  if (c.kind != ContractKind::kAllToAllV) return workload_of_count(c, dtype, count);
  return workload_of_counts(c, dtype, std::vector<uint64_t>(static_cast<size_t>(c.ranks) * c.ranks, count));
}

Workload workload_of_count(const Contract& c, DType dtype, uint64_t count) {
  Workload w;
  w.sizes.dtype = dtype;
  if (c.kind == ContractKind::kBarrier) {
    w.sizes.count = 1;  // the token: an empty message is never sent, so it would not synchronise
    return w;
  }
  w.sizes.count = count;
  w.shown_count = count;
  w.size_bytes = count * size_bytes(dtype) * blocks_of_size(c);
  if (std::optional<double> factor = bus_factor(c)) w.bus_bytes = static_cast<double>(w.size_bytes) * *factor;
  return w;
}

Workload workload_of_counts(const Contract& c, DType dtype, std::vector<uint64_t> counts) {
  Workload w;
  w.sizes.dtype = dtype;
  w.sizes.counts = std::move(counts);
  uint64_t leaving_most = 0;
  for (uint32_t i = 0; i < c.ranks; ++i) {
    uint64_t whole = 0, leaving = 0;
    for (uint32_t j = 0; j < c.ranks; ++j) {
      uint64_t n = w.sizes.counts[static_cast<size_t>(i) * c.ranks + j];
      w.shown_count = std::max(w.shown_count, n);
      whole += n;
      if (i != j) leaving += n;
    }
    w.size_bytes = std::max(w.size_bytes, whole * size_bytes(dtype));
    leaving_most = std::max(leaving_most, leaving * size_bytes(dtype));
  }
  w.bus_bytes = static_cast<double>(leaving_most);
  return w;
}

uint64_t side_elements(const Contract& c, const Sizes& sizes, bool is_out, uint32_t rank) {
  uint32_t blocks = is_out ? c.out_blocks(rank) : c.in_blocks(rank);
  if (c.kind != ContractKind::kAllToAllV) return sizes.count * blocks;
  uint64_t sum = 0;
  for (uint32_t b = 0; b < blocks; ++b) sum += block_length(c, sizes, is_out, rank, b);
  return sum;
}

std::optional<std::vector<uint64_t>> read_counts(const std::string& path, uint32_t ranks, Report& report) {
  std::string text;
  if (Status status = read_text(path, text); !status.ok()) {
    report.fail(status);
    return std::nullopt;
  }
  // Kept for the whole run: the report's carets point into it.
  static std::vector<std::unique_ptr<SourceFile>> kept;
  const SourceFile& file = *kept.emplace_back(std::make_unique<SourceFile>(path, std::move(text)));
  std::vector<uint64_t> counts;
  uint32_t rows = 0;
  bool good = true;
  for (uint32_t line = 1; line <= file.line_count(); ++line) {
    std::string_view row = file.line_text(line);
    row = row.substr(0, row.find('#'));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ++rows;
    uint32_t begin = static_cast<uint32_t>(row.data() - file.text().data());
    SourceRange range{&file, begin, begin + static_cast<uint32_t>(row.size())};
    std::vector<std::string> cells = split(row, ',');
    if (cells.size() != ranks) {
      report.diagnostics.error(diag::kCommandBadCounts, range,
                               fmt::format("this row has {} counts, not {}", cells.size(), ranks),
                               "one column for each receiving rank");
      good = false;
      continue;
    }
    for (std::string cell : cells) {
      cell.erase(0, cell.find_first_not_of(" \t"));
      cell.erase(cell.find_last_not_of(" \t\r") + 1);
      bool digits = !cell.empty() && cell.size() <= 15 && cell.find_first_not_of("0123456789") == std::string::npos;
      if (!digits) {
        report.diagnostics.error(diag::kCommandBadCounts, range, fmt::format("`{}` is not a count", cell),
                                 "counts are whole numbers of elements, below 10^15");
        good = false;
      } else {
        counts.push_back(std::stoull(cell));
      }
    }
  }
  if (rows != ranks && good) {
    report.diagnostics.error(diag::kCommandBadCounts, {&file, 0, 0},
                             fmt::format("`{}` has {} rows, not {}", path, rows, ranks),
                             "one row for each sending rank");
    good = false;
  }
  if (!good) return std::nullopt;
  return counts;
}

}  // namespace coll
