// Plan IR as text. The grammar, and every rule behind it, is in ir/README.md; plan_parse.cpp reads it back.
#include "ir/plan.h"
#include "ir/text_writer.h"

namespace coll {

namespace {

constexpr std::string_view kBufferNames[] = {"in", "out", "scratch"};

void print_operand(TextWriter& out, const Operand& o) {
  if (o.space == Space::kConnection) {
    out << 'c' << o.rank;
    return;
  }
  out << (o.buffer <= buffers::kScratch ? kBufferNames[o.buffer] : "?") << '[' << o.place << ']';
  if (o.space == Space::kPeer) out << "@r" << o.rank;
  if (o.space == Space::kGroup) out << "@g" << o.rank;
}

void print_instruction(TextWriter& out, const Plan& plan, uint32_t step, const Instruction& i) {
  out << "  " << step << ' ' << info(i.op).mnemonic;
  if (i.op == Opcode::kSignal || i.op == Opcode::kWait) {
    out << " n" << i.counter;
    if (i.op == Opcode::kWait) out << " >= " << i.value;
  } else {
    const Operand* operands = plan.operands.data() + i.first_operand;
    for (uint32_t o = 0; o < i.source_count; ++o) print_operand(out << (o == 0 ? " " : ", "), operands[o]);
    operands += i.source_count;
    for (uint32_t o = 0; o < i.destination_count; ++o) print_operand(out << (o == 0 ? " -> " : ", "), operands[o]);
    if (i.first_part == kLongestPart) {
      out << "  part longest";
    } else {
      out << "  part " << i.first_part;
    }
    if (i.length != 1) out << "  length " << i.length;
    if (i.grid != 0) out << "  grid " << i.grid;
  }
  if (i.after_count > 0) {
    out << "  after";
    for (const After& a : plan.afters(i)) out << ' ' << a.lane << '.' << a.step;
  }
  if (i.line < plan.lines.lines.size()) out << "  line " << i.line;
  out << "  @" << i.order << '\n';
}

// Runs of equal, non-zero numbers of scratch places: one line for a thousand ranks that have the same.
void print_scratch(TextWriter& out, const std::vector<uint32_t>& places) {
  for (uint32_t first = 0; first < places.size();) {
    uint32_t last = first;
    while (last + 1 < places.size() && places[last + 1] == places[first]) ++last;
    if (places[first] != 0) (out << "scratch ").ranks(first, last) << ' ' << places[first] << '\n';
    first = last + 1;
  }
}

void print_group(TextWriter& out, uint32_t id, const Group& group) {
  out << "group g" << id;
  for (size_t i = 0; i < group.ranks.size();) {
    size_t last = i;
    while (last + 1 < group.ranks.size() && group.ranks[last + 1] == group.ranks[last] + 1) ++last;
    (out << ' ').ranks(group.ranks[i], group.ranks[last]);
    i = last + 1;
  }
  out << '\n';
}

}  // namespace

std::string print_plan(const Plan& plan) {
  TextWriter out;
  out.reserve(1024 + plan.connections.size() * 40 + plan.instructions.size() * 72);
  out << "collc plan " << Plan::kVersion << '\n';
  (out << "name ").quoted(plan.name) << '\n';
  if (plan.has_direct()) out << "needs direct\n";
  if (plan.has_groups()) out << "needs multicast\n";
  print_contract(out, plan.contract);
  print_grids(out, plan.grids, plan.instances);
  if (plan.inplace) out << "inplace\n";
  out << "slots " << plan.slots_needed << '\n';
  print_part_of_family(out, plan.only_rank, plan.family_hash);
  print_scratch(out, plan.scratch_places);
  print_lines(out, plan.lines);
  for (uint32_t c = 0; c < plan.connections.size(); ++c) {
    const Connection& connection = plan.connections[c];
    out << "connection c" << c << " r" << connection.source << " -> r" << connection.destination << " channel "
        << connection.channel;
    if (!connection.protocol.empty() && connection.protocol != "simple") out << " protocol " << connection.protocol;
    out << '\n';
  }
  for (uint32_t n = 0; n < plan.counters.size(); ++n) {
    const Counter& counter = plan.counters[n];
    out << "counter n" << n << " r" << counter.signaller << " -> r" << counter.owner << ' ';
    out.quoted(counter.name) << '\n';
  }
  for (uint32_t g = 0; g < plan.groups.size(); ++g) print_group(out, g, plan.groups[g]);

  uint32_t rank = kAllRanks, lane_in_rank = 0;
  for (const Lane& lane : plan.lanes) {
    if (lane.rank != rank) {
      rank = lane.rank;
      lane_in_rank = 0;
      out << "\nrank " << rank << '\n';
    }
    out << " lane " << lane_in_rank++ << '\n';
    for (uint32_t s = 0; s < lane.count; ++s) print_instruction(out, plan, s, plan.instructions[lane.first + s]);
  }
  return out.take();
}

}  // namespace coll
