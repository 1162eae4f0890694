#include "ir/text_writer.h"

#include <cstdio>

#include "ir/schedule.h"

namespace coll {

TextWriter& TextWriter::quoted(std::string_view s) {
  out_ += '"';
  for (char c : s) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (u < 0x20 || u == 0x7f) {
      char hex[5];
      std::snprintf(hex, sizeof hex, "\\x%02x", u);
      out_ += hex;
    } else {
      out_ += c;
    }
  }
  out_ += '"';
  return *this;
}

TextWriter& TextWriter::ranks(uint32_t first, uint32_t last) {
  *this << 'r' << first;
  if (last != first) *this << "..r" << last;
  return *this;
}

void print_contract(TextWriter& out, const Contract& c) {
  out << "contract " << name(c.kind);
  if (c.name != name(c.kind)) (out << " named ").quoted(c.name);
  out << " ranks " << c.ranks;
  if (c.kind == ContractKind::kSendRecv) {
    out << " src " << c.root << " dst " << c.dst;
  } else if (c.has_root()) {
    out << " root " << c.root;
  }
  if (c.kind == ContractKind::kCustom) out << " in " << c.custom_in << " out " << c.custom_out;
  out << '\n';
  if (c.kind != ContractKind::kCustom) return;
  for (const Ensure& e : c.ensures) {
    out << "ensure out[" << e.block << "]@r" << e.rank << (e.reduce ? " = reduce" : " =");
    for (size_t i = 0; i < e.from.size(); ++i)
      out << (i == 0 ? " in[" : ", in[") << e.from[i].block << "]@r" << e.from[i].rank;
    out << '\n';
  }
}

void print_grids(TextWriter& out, const std::vector<Grid>& grids, uint32_t instances) {
  for (size_t g = 0; g < grids.size(); ++g) {
    const Grid& grid = grids[g];
    out << "grid " << static_cast<uint64_t>(g) << " parts " << grid.parts;
    if (grid.lo != 0 || grid.hi != 1 || grid.denominator != 1)
      out << " share " << grid.lo << ".." << grid.hi << " of " << grid.denominator;
    out << '\n';
  }
  if (instances != 1) out << "instances " << instances << '\n';
}

void print_part_of_family(TextWriter& out, uint32_t only_rank, uint64_t family_hash) {
  if (only_rank != kAllRanks) out << "only r" << only_rank << '\n';
  if (family_hash != 0) out << "family " << family_hash << '\n';
}

void print_lines(TextWriter& out, const LineTable& table) {
  for (size_t f = 0; f < table.files.size(); ++f) {
    out << "file " << static_cast<uint64_t>(f) << ' ';
    out.quoted(table.files[f]) << '\n';
  }
  for (size_t l = 0; l < table.lines.size(); ++l)
    out << "line " << static_cast<uint64_t>(l) << " file " << table.lines[l].file << ':' << table.lines[l].line << '\n';
}

}  // namespace coll
