// Schedule IR as text. The grammar is in ir/README.md; schedule_parse.cpp reads it back.
#include "ir/schedule.h"
#include "ir/text_writer.h"

namespace coll {

namespace {

// Tmps by number, not by name: two scopes of a program may use one name.
void print_place(TextWriter& out, const Place& p) {
  static constexpr std::string_view kNames[] = {"in", "out", "buf"};
  if (p.buffer < buffers::kFirstTmp) {
    out << kNames[p.buffer];
  } else {
    out << 't' << static_cast<uint32_t>(p.buffer - buffers::kFirstTmp);
  }
  out << '[' << p.place << ']';
  if (p.rank == kAllRanks) {
    out << "@all";
  } else {
    out << "@r" << p.rank;
  }
}

void print_hint(TextWriter& out, uint32_t id, const Hint& h) {
  out << "hint " << id;
  if (h.channel >= 0) out << " channel " << static_cast<uint32_t>(h.channel);
  if (h.lane >= 0) out << " lane " << static_cast<uint32_t>(h.lane);
  if (!h.protocol.empty()) out << " protocol " << h.protocol;
  if (!h.via.empty()) (out << " via ").quoted(h.via);
  if (!h.wire.empty()) out << " wire " << h.wire;
  out << '\n';
}

}  // namespace

std::string print_schedule(const Schedule& s) {
  TextWriter out;
  out.reserve(1024 + s.ops.size() * 48);
  out << "collc schedule 1\n";
  (out << "name ").quoted(s.name) << '\n';
  print_contract(out, s.contract);
  print_grids(out, s.grids, s.instances);
  for (uint32_t t = 0; t < s.tmps.size(); ++t)
    (out << "tmp t" << t << ' ').quoted(s.tmps[t].name) << " places " << s.tmps[t].places << '\n';
  for (uint32_t h = 1; h < s.hints.size(); ++h) print_hint(out, h, s.hints[h]);
  print_part_of_family(out, s.only_rank, s.family_hash);
  print_lines(out, s.lines);
  out << "\nops\n";
  for (const ScheduleOp& op : s.ops) {
    print_place(out << ' ', op.dst);
    out << (op.kind == ScheduleOp::Kind::kCopy         ? " = "
            : op.kind == ScheduleOp::Kind::kAccumulate ? " += "
                                                       : " = reduce ");
    for (uint32_t i = 0; i < op.source_count; ++i) {
      if (i > 0) out << ", ";
      print_place(out, s.sources[op.first_source + i]);
    }
    if (op.length != 1) out << "  length " << op.length;
    if (op.grid != 0) out << "  grid " << op.grid;
    if (op.hint != 0) out << "  hint " << op.hint;
    if (op.line < s.lines.lines.size()) out << "  line " << op.line;
    out << '\n';
  }
  return out.take();
}

}  // namespace coll
