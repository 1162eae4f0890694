// Text forms: print -> parse -> print gives the same bytes, for hand-written and for random plans and schedules, and
// nothing is lost on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ir/opcode_shape.h"
#include "ir/plan_text.h"

namespace coll {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> golden(const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(__FILE__).parent_path().parent_path() / "golden"))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Comments are the one thing that reading drops.
std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string line, out;
  while (std::getline(in, line))
    if (line.empty() || line[0] != '#') out += line + "\n";
  return out;
}

std::optional<Plan> plan_of(const std::string& text) {
  SourceFile file("test.plan", text);
  Diagnostics diagnostics;
  std::optional<Plan> plan = parse_plan(file, diagnostics);
  EXPECT_EQ(plan.has_value(), !diagnostics.has_errors());
  EXPECT_TRUE(plan.has_value()) << diagnostics.render();
  return plan;
}

std::optional<Schedule> schedule_of(const std::string& text) {
  SourceFile file("test.schedule", text);
  Diagnostics diagnostics;
  std::optional<Schedule> schedule = parse_schedule(file, diagnostics);
  EXPECT_TRUE(schedule.has_value()) << diagnostics.render();
  return schedule;
}

TEST(IrText, GoldenPlansPrintBack) {
  ASSERT_GE(golden(".plan").size(), 8u);
  for (const fs::path& path : golden(".plan")) {
    SCOPED_TRACE(path);
    std::string text = read_file(path);
    auto plan = plan_of(text);
    ASSERT_TRUE(plan);
    EXPECT_EQ(print_plan(*plan), without_comments(text));
  }
}

TEST(IrText, GoldenSchedulesPrintBack) {
  ASSERT_GE(golden(".schedule").size(), 2u);
  for (const fs::path& path : golden(".schedule")) {
    SCOPED_TRACE(path);
    std::string text = read_file(path);
    auto schedule = schedule_of(text);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(print_schedule(*schedule), without_comments(text));
  }
}

// Random plans that obey the reader's rules and none of the verifier's.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // The library's distributions differ between implementations; this does not.
  uint32_t below(uint64_t n) { return static_cast<uint32_t>(engine_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

Contract random_contract(Random& random) {
  static constexpr ContractKind kKinds[] = {
      ContractKind::kAllReduce,     ContractKind::kReduce,   ContractKind::kBroadcast, ContractKind::kAllGather,
      ContractKind::kReduceScatter, ContractKind::kGather,   ContractKind::kScatter,   ContractKind::kAllToAll,
      ContractKind::kAllToAllV,     ContractKind::kSendRecv, ContractKind::kBarrier,   ContractKind::kCustom};
  Contract c;
  c.kind = kKinds[random.below(std::size(kKinds))];
  c.name = random.chance(80) ? name(c.kind) : "an \"odd\" name\\ \n\x01 \xc3\xa9 # not a comment";
  c.ranks = 1 + random.below(9);
  if (c.has_root() || c.kind == ContractKind::kSendRecv) c.root = random.below(c.ranks);
  if (c.kind == ContractKind::kSendRecv) c.dst = random.below(c.ranks);
  if (c.kind != ContractKind::kCustom) return c;
  c.custom_in = 1 + random.below(4);
  c.custom_out = 1 + random.below(4);
  for (uint32_t r = 0; r < c.ranks; ++r) {
    for (uint32_t b = 0; b < c.custom_out; ++b) {
      if (random.chance(40)) continue;
      Ensure e{r, b, random.chance(50), {}};
      for (uint32_t from = 0; from < c.ranks; ++from)
        if (random.chance(50)) e.from.push_back({from, random.below(c.custom_in)});
      if (e.from.empty()) e.from.push_back({0, 0});
      if (!e.reduce) e.from.resize(1);
      c.ensures.push_back(e);
    }
  }
  return c;
}

std::vector<Grid> random_grids(Random& random) {
  if (random.chance(60)) return {Grid{1 + random.below(7)}};
  uint64_t denominator = 3 + random.below(1000);
  return {Grid{1 + random.below(5), 0, 1, denominator}, Grid{1 + random.below(5), 1, denominator - 1, denominator}};
}

LineTable random_lines(Random& random) {
  LineTable table;
  for (uint32_t f = random.below(3); f > 0; --f) table.files.push_back("dir/file" + std::to_string(f) + ".coll");
  if (table.files.empty()) return table;
  for (uint32_t l = random.below(6); l > 0; --l)
    table.lines.push_back({random.below(table.files.size()), random.below(1000)});
  return table;
}

// An operand with places to spare, or nothing when the buffer is too short.
std::optional<Operand> random_operand(Random& random, const Plan& plan, uint32_t rank, Space space,
                                      const Instruction& i, bool source) {
  Operand o;
  o.space = space;
  if (space == Space::kConnection) {
    std::vector<uint32_t> ids;
    for (uint32_t c = 0; c < plan.connections.size(); ++c)
      if ((source ? plan.connections[c].destination : plan.connections[c].source) == rank) ids.push_back(c);
    if (ids.empty()) return std::nullopt;
    o.rank = ids[random.below(ids.size())];
    return o;
  }
  o.buffer = static_cast<uint16_t>(random.below(3));
  uint32_t least = plan.places(rank, o.buffer, i.grid);
  if (space == Space::kPeer) {
    if (plan.ranks() < 2) return std::nullopt;
    o.rank = (rank + 1 + random.below(plan.ranks() - 1)) % plan.ranks();
    least = plan.places(o.rank, o.buffer, i.grid);
  }
  if (space == Space::kGroup) {
    if (plan.groups.empty()) return std::nullopt;
    o.rank = random.below(plan.groups.size());
    const auto& members = plan.groups[o.rank].ranks;
    if (std::find(members.begin(), members.end(), rank) == members.end()) return std::nullopt;
    for (uint32_t r : members) least = std::min(least, plan.places(r, o.buffer, i.grid));
  }
  if (least < i.length) return std::nullopt;
  o.place = random.below(least - i.length + 1);
  return o;
}

struct Form {
  Opcode op;
  std::vector<Space> sources, destinations;
};

const std::vector<Form>& forms() {
  constexpr Space L = Space::kLocal, C = Space::kConnection, P = Space::kPeer, G = Space::kGroup;
  static const std::vector<Form> list = {
      {Opcode::kSend, {L}, {C}},
      {Opcode::kRecv, {C}, {L}},
      {Opcode::kRecvReduce, {L, L, C}, {L}},
      {Opcode::kRecvReduce, {C, L}, {L}},
      {Opcode::kRecvSend, {C}, {C}},
      {Opcode::kRecvCopySend, {C}, {L, C}},
      {Opcode::kRecvReduceSend, {L, C}, {C}},
      {Opcode::kRecvReduceCopySend, {L, C}, {L, C}},
      {Opcode::kReduceSend, {L, L}, {C}},
      {Opcode::kReduceCopySend, {L, L, L}, {L, C}},
      {Opcode::kCopy, {L}, {L, L}},
      {Opcode::kReduce, {L, L}, {L}},
      {Opcode::kPut, {L}, {P}},
      {Opcode::kGet, {P}, {L}},
      {Opcode::kGetReduce, {P, L, P}, {L}},
      {Opcode::kPutReduce, {L, L}, {P}},
      {Opcode::kMulticast, {L}, {G}},
      {Opcode::kSwitchReduce, {G}, {L}},
  };
  return list;
}

bool add_instruction(Random& random, Plan& plan, uint32_t rank) {
  Instruction i;
  i.first_operand = static_cast<uint32_t>(plan.operands.size());
  i.first_after = static_cast<uint32_t>(plan.after.size());
  i.line = random.chance(60) && !plan.lines.lines.empty() ? random.below(plan.lines.lines.size()) : LineId::kNone;
  if (random.chance(15) && !plan.counters.empty()) {
    i.counter = random.below(plan.counters.size());
    const Counter& n = plan.counters[i.counter];
    if (n.signaller == rank) {
      i.op = Opcode::kSignal;
    } else if (n.owner == rank) {
      i.op = Opcode::kWait;
      i.value = 1 + random.below(5);
    } else {
      return false;
    }
  } else {
    const Form& form = forms()[random.below(forms().size())];
    i.op = form.op;
    i.grid = static_cast<uint16_t>(random.below(plan.grids.size()));
    uint32_t longest = 1;  // a message is no longer than the longest buffer of anyone
    for (uint32_t r = 0; r < plan.ranks(); ++r)
      for (uint16_t b = 0; b < 3; ++b) longest = std::max(longest, plan.places(r, b, i.grid));
    i.length = 1 + random.below(std::min(longest, 2u));
    i.first_part = random.chance(10) ? kLongestPart : random.below(plan.grids[i.grid].parts);
    std::vector<Operand> operands;
    for (bool source : {true, false}) {
      for (Space space : source ? form.sources : form.destinations) {
        auto o = random_operand(random, plan, rank, space, i, source);
        if (!o) return false;
        operands.push_back(*o);
      }
    }
    plan.operands.insert(plan.operands.end(), operands.begin(), operands.end());
    i.source_count = static_cast<uint8_t>(form.sources.size());
    i.destination_count = static_cast<uint8_t>(form.destinations.size());
  }
  plan.instructions.push_back(i);
  return true;
}

Plan random_plan(uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.name = "random " + std::to_string(seed);
  plan.contract = random_contract(random);
  plan.grids = random_grids(random);
  plan.instances = random.chance(70) ? 1 : 1 + random.below(8);
  plan.inplace = random.chance(50);
  plan.slots_needed = 1 + random.below(9);
  plan.family_hash = random.chance(50) ? 0 : (uint64_t{random.below(1u << 31)} << 33) + 5;
  plan.lines = random_lines(random);
  uint32_t ranks = plan.ranks();
  for (uint32_t r = 0; r < ranks; ++r) plan.scratch_places.push_back(random.below(3) * 2);
  if (ranks > 1) {
    static const char* const kProtocols[] = {"simple", "ll", "ll128"};
    for (uint32_t c = random.below(12); c > 0; --c) {
      uint32_t from = random.below(ranks);
      plan.connections.push_back({from, (from + 1 + random.below(ranks - 1)) % ranks, c, kProtocols[random.below(3)]});
    }
  }
  for (uint32_t n = random.below(6); n > 0; --n)
    plan.counters.push_back({random.below(ranks), random.below(ranks), random.chance(50) ? "ready" : ""});
  for (uint32_t g = random.below(3); g > 0; --g) {
    Group group;
    for (uint32_t r = 0; r < ranks; ++r)
      if (random.chance(70)) group.ranks.push_back(r);
    if (random.chance(30)) std::reverse(group.ranks.begin(), group.ranks.end());
    if (!group.ranks.empty()) plan.groups.push_back(group);
  }
  if (random.chance(20)) plan.only_rank = random.below(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    if (plan.only_rank != kAllRanks && r != plan.only_rank) continue;
    size_t first_lane = plan.lanes.size();
    for (uint32_t l = random.below(4); l > 0; --l) {
      Lane lane{r, static_cast<uint32_t>(plan.instructions.size()), 0};
      for (uint32_t tries = random.below(12); tries > 0; --tries) lane.count += add_instruction(random, plan, r);
      plan.lanes.push_back(lane);
    }
    for (size_t l = first_lane; l < plan.lanes.size(); ++l) {
      for (uint32_t s = 0; s < plan.lanes[l].count; ++s) {
        Instruction& i = plan.instructions[plan.lanes[l].first + s];
        i.first_after = static_cast<uint32_t>(plan.after.size());
        for (size_t other = first_lane; other < plan.lanes.size(); ++other) {
          if (other == l || plan.lanes[other].count == 0 || random.chance(70)) continue;
          plan.after.push_back({static_cast<uint32_t>(other - first_lane), random.below(plan.lanes[other].count)});
          ++i.after_count;
        }
      }
    }
  }
  // A witness with gaps, sometimes far apart, in no order of ranks.
  uint32_t stride = random.chance(70) ? 1 : 1000003;
  std::vector<uint32_t> order(plan.instructions.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i * stride;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (size_t i = 0; i < order.size(); ++i) plan.instructions[i].order = order[i];
  plan.finish();
  return plan;
}

void expect_equal(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.contract, b.contract);
  EXPECT_EQ(a.grids, b.grids);
  EXPECT_EQ(a.instances, b.instances);
  EXPECT_EQ(a.inplace, b.inplace);
  EXPECT_EQ(a.slots_needed, b.slots_needed);
  EXPECT_EQ(a.scratch_places, b.scratch_places);
  EXPECT_EQ(a.lanes, b.lanes);
  EXPECT_EQ(a.operands, b.operands);
  EXPECT_EQ(a.after, b.after);
  EXPECT_EQ(a.connections, b.connections);
  EXPECT_EQ(a.counters, b.counters);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.only_rank, b.only_rank);
  EXPECT_EQ(a.family_hash, b.family_hash);
  EXPECT_EQ(a.rank_lanes, b.rank_lanes);
  EXPECT_EQ(a.max_message_parts, b.max_message_parts);
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    const Instruction &x = a.instructions[i], &y = b.instructions[i];
    EXPECT_TRUE(x.op == y.op && x.source_count == y.source_count && x.destination_count == y.destination_count &&
                x.grid == y.grid && x.after_count == y.after_count && x.first_operand == y.first_operand &&
                x.first_after == y.first_after && x.first_part == y.first_part && x.length == y.length &&
                x.counter == y.counter && x.value == y.value && x.line == y.line && x.order == y.order)
        << "instruction " << i;
  }
}

TEST(IrText, RandomPlansRoundTrip) {
  size_t instructions = 0;
  std::vector<uint32_t> seen(forms().size() + 2, 0);
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan = random_plan(seed);
    for (const Lane& lane : plan.lanes)
      for (uint32_t s = 0; s < lane.count; ++s)
        ASSERT_EQ(shape_error(plan, lane.rank, plan.instructions[lane.first + s]), nullptr);
    instructions += plan.instructions.size();
    for (const Instruction& i : plan.instructions) ++seen[static_cast<size_t>(i.op)];
    std::string text = print_plan(plan);
    auto back = plan_of(text);
    ASSERT_TRUE(back) << text;
    expect_equal(plan, *back);
    ASSERT_EQ(print_plan(*back), text);
  }
  EXPECT_GT(instructions, 3000u);
  for (uint8_t op = 0; op <= static_cast<uint8_t>(Opcode::kSwitchReduce); ++op)
    EXPECT_GT(seen[op], 5u) << "the generator hardly makes " << info(static_cast<Opcode>(op)).mnemonic;
}

Schedule random_schedule(uint64_t seed) {
  Random random(seed);
  Schedule s;
  s.name = "random";
  s.contract = random_contract(random);
  s.grids = random_grids(random);
  s.instances = 1 + random.below(3);
  for (uint32_t t = random.below(3); t > 0; --t) s.tmps.push_back({"twin", random.below(9)});
  static const char* const kProtocols[] = {"", "simple", "ll", "ll128"};
  static const char* const kWires[] = {"", "bf16", "f16", "f8e4m3"};
  for (uint32_t h = random.below(4); h > 0; --h) {
    Hint hint;
    if (random.chance(50)) hint.channel = static_cast<int32_t>(random.below(8));
    if (random.chance(50)) hint.lane = static_cast<int32_t>(random.below(8));
    hint.protocol = kProtocols[random.below(4)];
    hint.via = random.chance(50) ? "" : "nv link";
    hint.wire = kWires[random.below(4)];
    s.hints.push_back(hint);
  }
  s.lines = random_lines(random);
  if (random.chance(20)) s.only_rank = random.below(s.ranks());
  s.family_hash = random.below(3);
  for (uint32_t tries = random.below(40); tries > 0; --tries) {
    ScheduleOp op;
    op.kind = static_cast<ScheduleOp::Kind>(random.below(3));
    op.grid = static_cast<uint16_t>(random.below(s.grids.size()));
    op.hint = static_cast<uint16_t>(random.below(s.hints.size()));
    op.length = 1 + random.below(2);
    op.line = random.chance(60) && !s.lines.lines.empty() ? random.below(s.lines.lines.size()) : LineId::kNone;
    auto place = [&](bool destination) -> std::optional<Place> {
      Place p;
      p.buffer = static_cast<uint16_t>(random.below(3 + s.tmps.size()));
      if (destination && p.buffer == buffers::kIn) p.buffer = buffers::kBuf;
      bool all = random.chance(10) && (destination == (op.kind == ScheduleOp::Kind::kCopy));
      p.rank = all ? kAllRanks : random.below(s.ranks());
      uint32_t least = UINT32_MAX;
      for (uint32_t r = 0; r < s.ranks(); ++r)
        if (all || r == p.rank) least = std::min(least, s.places(r, p.buffer, op.grid));
      if (least < op.length) return std::nullopt;
      p.place = random.below(least - op.length + 1);
      return p;
    };
    std::vector<Place> places;
    op.source_count = op.kind == ScheduleOp::Kind::kCopy ? 1 : 1 + random.below(3);
    for (uint32_t i = 0; i <= op.source_count; ++i)
      if (auto p = place(i == 0)) places.push_back(*p);
    if (places.size() != op.source_count + 1) continue;
    op.dst = places[0];
    op.first_source = static_cast<uint32_t>(s.sources.size());
    s.sources.insert(s.sources.end(), places.begin() + 1, places.end());
    s.ops.push_back(op);
  }
  return s;
}

TEST(IrText, RandomSchedulesRoundTrip) {
  size_t ops = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Schedule s = random_schedule(seed);
    ops += s.ops.size();
    std::string text = print_schedule(s);
    auto back = schedule_of(text);
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(back->contract, s.contract);
    EXPECT_EQ(back->grids, s.grids);
    EXPECT_EQ(back->instances, s.instances);
    EXPECT_EQ(back->tmps, s.tmps);
    EXPECT_EQ(back->hints, s.hints);
    EXPECT_EQ(back->ops, s.ops);
    EXPECT_EQ(back->sources, s.sources);
    EXPECT_EQ(back->lines, s.lines);
    EXPECT_EQ(back->only_rank, s.only_rank);
    EXPECT_EQ(back->family_hash, s.family_hash);
    ASSERT_EQ(print_schedule(*back), text);
  }
  EXPECT_GT(ops, 3000u);
}

constexpr const char* kSmall = R"(collc plan 1
name "small"
contract allreduce ranks 2
grid 0 parts 1
slots 1
connection c0 r0 -> r1 channel 0

rank 0
 lane 0
  0 send in[0] -> c0  part 0  @0

rank 1
 lane 0
  0 rr in[0], c0 -> out[0]  part 0  @1
)";

TEST(IrText, SpacingAndCommentsMeanNothing) {
  std::string loose;
  for (const char* p = kSmall; *p != '\0'; ++p) {
    if (*p == '\n') {
      loose += "\t # said a person\r\n\r\n   # and again\n";
    } else if (*p == ',') {
      loose += " ,";
    } else {
      loose += *p;
    }
  }
  auto plan = plan_of(loose);
  ASSERT_TRUE(plan);
  EXPECT_EQ(print_plan(*plan), kSmall);
  std::string no_newline(kSmall);
  no_newline.pop_back();
  ASSERT_TRUE(plan_of(no_newline));
}

TEST(IrText, WrongPlansAreReadable) {
  // What the verifier refuses must reach it: a write to `in`, a message that nobody takes, a part that does not fit.
  std::string text(kSmall);
  text.replace(text.find("0 rr in[0], c0 -> out[0]"), 24, "0 copy out[0] -> in[0]");
  EXPECT_TRUE(plan_of(text));
}

TEST(IrText, ErrorsAreCollectedUpToALimit) {
  std::string text(kSmall);
  for (int i = 1; i < 5000; ++i)
    text += "  " + std::to_string(i) + " snd in[0] -> c0  part 0  @" + std::to_string(i + 1) + "\n";
  SourceFile file("many.plan", text);
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_plan(file, diagnostics));
  EXPECT_EQ(diagnostics.all().size(), Diagnostics::kLimit);
  EXPECT_NE(diagnostics.render().find("did you mean `send`?"), std::string::npos);
}

TEST(IrText, PlaceOfAnErrorIsExact) {
  std::string text(kSmall);
  size_t at = text.find("c0 -> out[0]");
  text[at + 1] = '9';
  SourceFile file("exact.plan", text);
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_plan(file, diagnostics));
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].range.begin, at);
  EXPECT_EQ(diagnostics.render(),
            "exact.plan:14:15: error: connection c9 is not in the table, which has only connection 0 "
            "[plan_connection]\n    0 rr in[0], c9 -> out[0]  part 0  @1\n                ^~\n");
}

TEST(IrText, AFewBytesDoNotAskForTheMemoryOfAMachine) {
  auto refused = [](const std::string& from, const std::string& to) {
    std::string text(kSmall);
    text.replace(text.find(from), from.size(), to);
    SourceFile file("bomb.plan", text);
    Diagnostics diagnostics;
    EXPECT_FALSE(parse_plan(file, diagnostics)) << to;
    ASSERT_FALSE(diagnostics.all().empty());
    EXPECT_STREQ(diagnostics.all()[0].id, "plan_limit") << diagnostics.render();
  };
  refused("ranks 2", "ranks 1048577");
  refused("allreduce ranks 2", "alltoall ranks 1048576");
  refused("parts 1", "parts 4000000000");
  refused("slots 1", "slots 1\nscratch r0..r1 4000000000");
  refused("slots 1", "slots 1073741825");
  std::string groups = "allreduce ranks 1048576\ngrid 0 parts 1\nslots 1\n";
  for (int g = 0; g < 20; ++g) groups += "group g" + std::to_string(g) + " r0..r1048575\n";
  refused("allreduce ranks 2\ngrid 0 parts 1\nslots 1\n", groups);
}

TEST(IrText, EmptyAndForeignTextsAreRefused) {
  for (std::string text :
       {"", "\n\n", "# only a comment\n", "collc", "collc schedule 1\n", "collc plan 1",
        "collc plan 18446744073709551616\n", "<algo name=\"ring\"/>", "collc plan 1\nname \"\\xg0\"\n"}) {
    SourceFile file("odd.plan", text);
    Diagnostics diagnostics;
    EXPECT_FALSE(parse_plan(file, diagnostics)) << text;
    EXPECT_TRUE(diagnostics.has_errors()) << text;
    EXPECT_FALSE(diagnostics.render().empty());
  }
}

TEST(OpcodeShape, RefusesWhatTheTableDoesNotList) {
  auto plan = plan_of(kSmall);
  ASSERT_TRUE(plan);
  Instruction send = plan->instructions[0];
  EXPECT_EQ(shape_error(*plan, 0, send), nullptr);
  EXPECT_STREQ(shape_error(*plan, 1, send), "a connection that does not begin or end at this rank");
  Instruction i = send;
  i.op = Opcode::kRecv;
  EXPECT_STREQ(shape_error(*plan, 0, i), "sources that this instruction does not take");
  i = send;
  i.length = 2;
  EXPECT_STREQ(shape_error(*plan, 0, i), "a place outside its buffer");
  i = send;
  i.grid = 1;
  EXPECT_STREQ(shape_error(*plan, 0, i), "a grid that is not in the plan");
  i = send;
  i.first_part = 1;
  EXPECT_STREQ(shape_error(*plan, 0, i), "a part outside its grid");
  i = send;
  i.destination_count = 0;
  EXPECT_STREQ(shape_error(*plan, 0, i), "destinations that this instruction does not take");
}

}  // namespace
}  // namespace coll
