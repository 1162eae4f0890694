// What programs are spelt out into: places, pieces of ranges, hints, contracts, lines; and what is said where they
// cannot be.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/frontend.h"

namespace coll {
namespace {

struct Result {
  std::optional<Schedule> schedule;
  std::string errors;
};

Result run(const std::string& text, ElaborateOptions o = {}) {
  if (o.ranks == 0) o.ranks = 4;
  SourceFile file("test.coll", text);
  Diagnostics diagnostics;
  auto tree = parse(file, diagnostics);
  Result r;
  if (tree && !diagnostics.has_errors()) r.schedule = elaborate(*tree, o, diagnostics);
  r.errors = diagnostics.render();
  EXPECT_EQ(r.schedule.has_value(), !diagnostics.has_errors());
  return r;
}

std::string allreduce(const std::string& body) { return "algorithm a implements allreduce {\n" + body + "\n}\n"; }

// "buf1[2..4) += buf0[2..4)"
std::string describe(const Schedule& s, const ScheduleOp& op) {
  auto place = [&](const Place& p) {
    std::string rank = p.rank == kAllRanks ? "*" : std::to_string(p.rank);
    return s.buffer_name(p.buffer) + rank + "[" + std::to_string(p.place) + ".." + std::to_string(p.place + op.length) +
           ")";
  };
  std::string out = place(op.dst);
  out += op.kind == ScheduleOp::Kind::kAccumulate ? " +=" : " =";
  if (op.kind == ScheduleOp::Kind::kReduce) out += " reduce";
  for (uint32_t i = 0; i < op.source_count; ++i) out += " " + place(s.sources[op.first_source + i]);
  return out;
}

std::vector<std::string> ops(const std::string& text, ElaborateOptions o = {}) {
  Result r = run(text, o);
  EXPECT_TRUE(r.schedule) << r.errors;
  std::vector<std::string> list;
  if (r.schedule)
    for (const ScheduleOp& op : r.schedule->ops) list.push_back(describe(*r.schedule, op));
  return list;
}

using Ops = std::vector<std::string>;

TEST(Elaborate, RanksAndChunksWrap) {
  EXPECT_EQ(ops(allreduce("chunks 3\nbuf[-1][-1] = buf[ranks][3]\nbuf[9][-7] += buf[-9][100]")),
            (Ops{"buf3[2..3) = buf0[0..1)", "buf1[2..3) += buf3[1..2)"}));
}

TEST(Elaborate, RangesAreCutAtEveryWrapPoint) {
  EXPECT_EQ(ops(allreduce("chunks 8\nbuf[1][6 ..< 11] = buf[0][7 ..< 12]")),
            (Ops{"buf1[6..7) = buf0[7..8)", "buf1[7..8) = buf0[0..1)", "buf1[0..3) = buf0[1..4)"}));
  EXPECT_EQ(ops(allreduce("chunks 4\nbuf[1][2 ..< 2] = buf[0][0 ..< 0]")), Ops{});
  EXPECT_EQ(ops(allreduce("chunks 4\nbuf[1][-1 ..< 3] = buf[0][-1 ..< 3]")),
            (Ops{"buf1[3..4) = buf0[3..4)", "buf1[0..3) = buf0[0..3)"}));
  // In place, place by place: nothing is read that was written before.
  EXPECT_EQ(ops(allreduce("chunks 4\ntmp t[4]\nt[0][0 ..< 4] = buf[0][3 ..< 7]")),
            (Ops{"t0[0..1) = buf0[3..4)", "t0[1..4) = buf0[0..3)"}));
}

TEST(Elaborate, AWrappingRangeOverItsOwnSourceIsRefusedAlsoByAnotherName) {
  std::string text =
      "algorithm a implements allgather {\n  chunks 2\n  out[1][3 ..< 5] = in[1][0 ..< 2]\n  buf[1][7 ..< 9] = "
      "in[1][0 ..< 2]\n}\n";
  EXPECT_TRUE(run(text).schedule);
  EXPECT_NE(run("algorithm a implements allgather {\n  chunks 2\n  out[0][7 ..< 9] = in[0][0 ..< 2]\n}\n")
                .errors.find("[wrapped_overlap]"),
            std::string::npos);
}

TEST(Elaborate, PlacesOfInAndOutAreThoseOfTheContract) {
  ElaborateOptions o;
  o.ranks = 3;
  EXPECT_EQ(ops("algorithm a implements allgather { chunks 2; out[1][-1] = in[0][-1]; buf[0][7] = buf[1][5] }", o),
            (Ops{"out1[5..6) = in0[1..2)", "buf0[1..2) = buf1[5..6)"}));
  o.root = 2;
  EXPECT_EQ(ops("algorithm a implements gather(root) { out[root][1] = in[1][0] }", o), (Ops{"out2[1..2) = in1[0..1)"}));
  EXPECT_NE(run("algorithm a implements gather(root) { out[0][1] = in[1][0] }", o)
                .errors.find("rank 0 has no `out` in `gather`: only the root has one, rank 2"),
            std::string::npos);
}

TEST(Elaborate, ReductionsAndAllRanks) {
  EXPECT_EQ(
      ops(allreduce("buf[0][0] = reduce(buf[0][0], buf[1][0], buf[2][0])\nbuf[3][0] += reduce(buf[0][0], buf[1][0])\n"
                    "buf[1][0] = reduce(buf[all][0])\nbuf[all][0] = buf[1][0]")),
      (Ops{"buf0[0..1) = reduce buf0[0..1) buf1[0..1) buf2[0..1)", "buf3[0..1) += buf0[0..1) buf1[0..1)",
           "buf1[0..1) = reduce buf*[0..1)", "buf*[0..1) = buf1[0..1)"}));
}

TEST(Elaborate, LoopsConditionsAndLets) {
  EXPECT_EQ(
      ops(allreduce(
          "for i in 0 ..< 5 step 2, j in i ..< 3 {\n  let k = i * 10 + j\n  if k % 2 == 0 { buf[i][0] = buf[j][0] } "
          "else if j == 1 { buf[j][0] += buf[i][0] }\n}\nfor i in 3 ..< 1 { buf[0][0] = buf[1][0] }")),
      (Ops{"buf0[0..1) = buf0[0..1)", "buf1[0..1) += buf0[0..1)", "buf0[0..1) = buf2[0..1)",
           "buf2[0..1) = buf2[0..1)"}));
}

TEST(Elaborate, ArithmeticRoundsDown) {
  EXPECT_EQ(
      ops(allreduce(
          "chunks 100\nfor i in -3 ..< -2 {\n  buf[0][i / 2 + 10] = buf[0][i % 5]\n  buf[0][7 / i + 10] = "
          "buf[0][-i % 2]\n  buf[0][max(i, 4, 2)] = buf[0][min(7, -i)]\n  buf[0][log2(-i)] = buf[0][pow2(-i)]\n}")),
      (Ops{"buf0[8..9) = buf0[2..3)", "buf0[7..8) = buf0[1..2)", "buf0[4..5) = buf0[3..4)",
           "buf0[1..2) = buf0[8..9)"}));
}

TEST(Elaborate, FunctionsRecurseAndSeeTheirOwnNamesOnly) {
  std::string text =
      "function fib(n) {\n  if n < 2 { return n }\n  let a = fib(n - 1)\n  let b = fib(n - 2)\n  return a + b\n}\n"
      "function even(n) = n == 0 ? true : !(n % 2 == 1)\n"
      "algorithm a implements allreduce {\n  chunks 100\n  for n in 9 ..< 11 { if even(n) { buf[0][fib(n)] = "
      "buf[1][fib(fib(6))] } }\n}";
  EXPECT_EQ(ops(text), (Ops{"buf0[55..56) = buf1[21..22)"}));
}

TEST(Elaborate, NodesOfDifferentSizes) {
  ElaborateOptions o;
  o.ranks = 5;
  o.machine = MachineView::uniform(5, 2);
  EXPECT_EQ(ops(allreduce("chunks 8\nbuf[rank(1, 1)][local(0)] = buf[rank(0, 2)][node(3) + index(4) + nodes]"), o),
            (Ops{"buf4[3..4) = buf2[4..5)"}));
}

TEST(Elaborate, ParametersAndHintsAndInstances) {
  ElaborateOptions o;
  o.parameters = {{"k", 3}};
  Result r = run(
      "algorithm a(k = 2, j = -1) implements allreduce {\n  chunks k\n  protocol ll\n  on lane 2\n  instances k + 1\n"
      "  for c in 0 ..< k {\n    buf[1][c] += buf[0][c] on channel c % 2 protocol simple\n    buf[0][c] = buf[1][c] "
      "via nvlink wire bf16\n  }\n}",
      o);
  ASSERT_TRUE(r.schedule) << r.errors;
  const Schedule& s = *r.schedule;
  EXPECT_EQ(s.instances, 4u);
  EXPECT_EQ(s.grids[0].parts, 3u);
  ASSERT_EQ(s.ops.size(), 6u);
  EXPECT_EQ(s.hints[s.ops[0].hint], (Hint{0, 2, "simple", "", ""}));
  EXPECT_EQ(s.hints[s.ops[1].hint], (Hint{-1, 2, "ll", "nvlink", "bf16"}));
  EXPECT_EQ(s.hints[s.ops[2].hint], (Hint{1, 2, "simple", "", ""}));
  EXPECT_EQ(s.ops[4].hint, s.ops[0].hint);
  EXPECT_EQ(s.hints[0], Hint{});
}

TEST(Elaborate, LinesLeadBackToTheStatement) {
  std::string text =
      allreduce("buf[1][0] += buf[0][0]; buf[2][0] += buf[1][0]\nfor i in 0 ..< 2 {\n  buf[i][0] = buf[2][0]\n}");
  SourceFile file("test.coll", text);
  Diagnostics diagnostics;
  auto tree = parse(file, diagnostics);
  ElaborateOptions o;
  o.ranks = 4;
  auto s = elaborate(*tree, o, diagnostics);
  ASSERT_TRUE(s);
  ASSERT_EQ(s->ops.size(), 4u);
  EXPECT_EQ(s->lines.lines.size(), 3u);
  EXPECT_EQ(s->lines.describe(s->ops[3].line), "test.coll:4");
  SourceRange range = s->line_ranges[s->ops[1].line];
  EXPECT_EQ(file.text().substr(range.begin, range.end - range.begin), "buf[2][0] += buf[1][0]");
}

TEST(Elaborate, OneRanksPartIsTheStatementsThatTouchIt) {
  std::string text = allreduce(
      "chunks 4\nfor s in 0 ..< ranks - 1, r in 0 ..< ranks { buf[r + 1][r - s ..< r - s + 2] += buf[r][r - s ..< r - "
      "s + 2] }\n"
      "for r in 0 ..< ranks { buf[r + 1][0] = buf[r][1] }\nbuf[all][0] = buf[0][0]");
  Result whole = run(text);
  ASSERT_TRUE(whole.schedule) << whole.errors;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    ElaborateOptions o;
    o.only_rank = rank;
    Result part = run(text, o);
    ASSERT_TRUE(part.schedule) << part.errors;
    EXPECT_EQ(part.schedule->only_rank, rank);
    EXPECT_EQ(part.schedule->family_hash, whole.schedule->family_hash);
    Ops wanted, seen;
    for (const ScheduleOp& op : whole.schedule->ops) {
      bool touches = op.dst.rank == rank || op.dst.rank == kAllRanks;
      for (uint32_t i = 0; i < op.source_count; ++i)
        touches |= whole.schedule->sources[op.first_source + i].rank == rank;
      if (touches) wanted.push_back(describe(*whole.schedule, op));
    }
    for (const ScheduleOp& op : part.schedule->ops) seen.push_back(describe(*part.schedule, op));
    EXPECT_EQ(seen, wanted);
  }
}

TEST(Elaborate, TheFamilyHashTellsProgramsAndSettingsApart) {
  std::string text = "algorithm a(k = 1) implements broadcast { chunks k; buf[root + 1][0] = buf[root][0] }";
  std::vector<uint64_t> hashes;
  auto add = [&](const std::string& t, const ElaborateOptions& o) {
    hashes.push_back(run(t, o).schedule->family_hash);
  };
  ElaborateOptions o;
  o.ranks = 4;
  add(text, o);
  add(text + " ", o);
  o.parameters["k"] = 2;
  add(text, o);
  o.root = 1;
  add(text, o);
  o.ranks = 6;
  add(text, o);
  o.machine = MachineView::uniform(6, 2);
  add(text, o);
  EXPECT_EQ(run(text, o).schedule->family_hash, hashes.back());
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Collective, PromisesAreSpeltOut) {
  Result r =
      run("collective c(w) {\n  chunks in w, out 2 * w\n  ensure out[r][-1 ..< w - 1] == in[r - 1][0 ..< w]\n"
          "  ensure out[1][w - 1] == reduce(in[all][w])\n  if w == 2 { ensure out[2][w - 1] == any }\n}\n"
          "algorithm a implements c(2) { out[0][0] = in[0][0] }",
          [] {
            ElaborateOptions o;
            o.ranks = 3;
            return o;
          }());
  ASSERT_TRUE(r.schedule) << r.errors;
  const Contract& c = r.schedule->contract;
  EXPECT_EQ(c.kind, ContractKind::kCustom);
  EXPECT_EQ(c.name, "c");
  EXPECT_EQ(c.in_blocks(0), 2u);
  EXPECT_EQ(c.out_blocks(2), 4u);
  std::vector<Ensure> wanted = {
      {0, 0, false, {{2, 1}}}, {0, 3, false, {{2, 0}}}, {1, 0, false, {{0, 1}}}, {1, 1, true, {{0, 0}, {1, 0}, {2, 0}}},
      {1, 3, false, {{0, 0}}}, {2, 0, false, {{1, 1}}}, {2, 3, false, {{1, 0}}}};
  EXPECT_EQ(c.ensures, wanted);
}

TEST(Contracts, ArgumentsFixTheRoot) {
  Result r = run("algorithm a implements sendrecv(ranks - 1, 0) { out[dst][0] = in[src][0] }");
  ASSERT_TRUE(r.schedule) << r.errors;
  EXPECT_EQ(r.schedule->contract.root, 3u);
  EXPECT_EQ(r.schedule->contract.dst, 0u);
  EXPECT_EQ(describe(*r.schedule, r.schedule->ops[0]), "out0[0..1) = in3[0..1)");
  r = run("algorithm a(k = 2) implements broadcast(k) { buf[root + 1][0] = buf[root][0] }");
  ASSERT_TRUE(r.schedule) << r.errors;
  EXPECT_EQ(describe(*r.schedule, r.schedule->ops[0]), "buf3[0..1) = buf2[0..1)");
}

TEST(Errors, NameTheValuesOfTheVariables) {
  std::string errors =
      run(allreduce("tmp t[2]\nfor s in 0 ..< 3, r in 0 ..< ranks {\n  let c = r + s\n  t[r][c] = buf[0][0]\n}"))
          .errors;
  EXPECT_NE(errors.find("`t[r][c]` is place 2 of 2: places of a tmp do not wrap, with s = 0, r = 2, c = 2"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("test.coll:5:7: error"), std::string::npos) << errors;
}

TEST(Errors, AFaultAfterAStatementDoesNotSpeakOfItsVariables) {
  Result r = run(allreduce("let big = pow2(62)\nfor s in 0 ..< 2 { buf[1][0] = buf[0][0] }\nlet x = big * 4"));
  EXPECT_NE(r.errors.find("test.coll:4:"), std::string::npos) << r.errors;
  EXPECT_EQ(r.errors.find("s = "), std::string::npos) << r.errors;
}

TEST(Errors, SeveralInOneRun) {
  std::string errors =
      run("algorithm a implements alreduce {\n  let x = rnks\n  buf[0][0] = bf[1][0]\n  let = 4\n}\n"
          "algorithm b implements allreduce {\n  chunk ranks\n  buf[0][0] == buf[1][0]\n  let y = 1 +\n}\n"
          "algorithm c implements alreduce {\n  let x = rnks\n  bof[0][0] = buf[1][0]\n}\n")
          .errors;
  for (const char* part :
       {"test.coll:4:7: error", "test.coll:7:3: error", "did you mean `chunks`?", "test.coll:8:13: error",
        "test.coll:9:13: error", "did you mean `allreduce`?", "did you mean `ranks`?", "did you mean `buf`?"})
    EXPECT_NE(errors.find(part), std::string::npos) << part << "\n" << errors;
  errors =
      run(allreduce("tmp t[1]\nt[0][1] = buf[0][0]\nt[1][2] = buf[0][0]\nfor i in 0 ..< 4 { t[i][i] = buf[0][0] }"))
          .errors;
  EXPECT_NE(errors.find("test.coll:3:"), std::string::npos) << errors;
  EXPECT_NE(errors.find("test.coll:4:"), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '^'), 3) << errors;  // each statement once
}

TEST(Errors, WhatIsNotAvailableIsPassedOverAsAWhole) {
  std::string errors =
      run("pipeline p(P) {\n  place linear\n  order F by m { x }\n}\noperator o = cpp \"x.h\" X\n"
          "algorithm a implements allreduce {\n  for tree T in trees share T.bandwidth {\n    chunks 4\n"
          "    for r in T.up { buf[T.parent(r)][0] += buf[r][0] }\n  }\n  let x = 1 +\n}\n")
          .errors;
  for (const char* part :
       {"test.coll:1:1: error", "test.coll:5:1: error", "test.coll:7:3: error", "test.coll:11:13: error"})
    EXPECT_NE(errors.find(part), std::string::npos) << part << "\n" << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '^'), 4) << errors;
}

TEST(Errors, LimitsOnStepsAndKeptStatements) {
  ElaborateOptions o;
  o.ranks = 4;
  o.max_ops = 100;
  EXPECT_NE(run(allreduce("for i in 0 ..< 101 { buf[i][0] = buf[0][0] }"), o).errors.find("at least 101 statements"),
            std::string::npos);
  // Bounds that are not constant are met when they are.
  EXPECT_NE(run(allreduce("for i in 0 ..< 101, j in i ..< i + 1 { buf[i][0] = buf[j][0] }"), o)
                .errors.find("with i = 100, j = 100"),
            std::string::npos);
  EXPECT_NE(run(allreduce("chunks 8\nfor i in 0 ..< 101 { buf[i][0 ..< 2] = buf[0][0 ..< 2] }"), o)
                .errors.find("with i = 100"),
            std::string::npos);
  EXPECT_TRUE(run(allreduce("for i in 0 ..< 100 { buf[i][0] = buf[0][0] }"), o).schedule);
  o.max_steps = 10000;
  EXPECT_NE(
      run("function f(n) = n < 2 ? n : f(n - 1) + f(n - 2)\n" + allreduce("let x = f(60)\nbuf[0][x] = buf[1][0]"), o)
          .errors.find("[too_many_statements]"),
      std::string::npos);
}

}  // namespace
}  // namespace coll
