// What the author of a faulty file is told: all of it, only it, and in bytes that a terminal can show.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "dsl/frontend.h"

namespace coll {
namespace {

// Ids with their lines: "3:unknown_name 5:unknown_function".
std::string told(const std::string& text, ElaborateOptions o = {}) {
  if (o.ranks == 0) o.ranks = 4;
  SourceFile file("test.coll", text);
  Diagnostics diagnostics;
  auto tree = parse(file, diagnostics);
  if (tree && !diagnostics.has_errors()) elaborate(*tree, o, diagnostics);
  std::vector<std::pair<uint32_t, std::string>> found;
  for (const Diagnostic& d : diagnostics.all()) found.emplace_back(file.line_of(d.range.begin), d.id);
  std::sort(found.begin(), found.end());
  std::string out;
  for (const auto& [line, id] : found) out += (out.empty() ? "" : " ") + std::to_string(line) + ":" + id;
  return out;
}

std::string rendered(const std::string& text, ElaborateOptions o = {}) {
  if (o.ranks == 0) o.ranks = 4;
  SourceFile file("test.coll", text);
  Diagnostics diagnostics;
  auto tree = parse(file, diagnostics);
  if (tree && !diagnostics.has_errors()) elaborate(*tree, o, diagnostics);
  return diagnostics.render();
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no `" << part << "` in\n" << text;
}

// Of this process: others on the machine do not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string allreduce(const std::string& body) { return "algorithm a implements allreduce {\n" + body + "\n}\n"; }

// --- one mistake does not hide another ------------------------------------------------------------------------------

TEST(Recovery, AStatementThatDoesNotParseHidesNothingElse) {
  EXPECT_EQ(told("algorithm a implements allredcue {\n  chunk ranks\n  let x = rnks\n  buf[1][0] += bof[0][0]\n}\n"),
            "1:unknown_collective 2:expected_statement 3:unknown_name 4:unknown_buffer");
  EXPECT_EQ(told("function f(x) {\n  let y = x +\n  if x > z { return 1 }\n  return y\n}\n" +
                 allreduce("let x = f(1, 2)\nbuf[1][0] += buf[0][0]")),
            "2:expected_expression 3:unknown_name 7:wrong_argument_count");
}

TEST(Recovery, WhatAFaultyStatementDeclaresIsNotUnknown) {
  EXPECT_EQ(told(allreduce("let x = 1 +\nlett y = 3\ntmp t[\ntpm u[2]\nlet ok = x <\nlet a = 1 let b = 2\n"
                           "if ok { t[x][y] = buf[0][b] }\nu[0][0] = buf[0][y]\nlet x = 2\nlet z = nought")),
            "2:expected_expression 3:expected_statement 4:expected_expression 5:expected_statement "
            "6:expected_expression 7:missing_separator 11:unknown_name");
  EXPECT_EQ(told(allreduce("for s in 0 .. ranks {\n  let c = s\n  buf[s][c] = buf[0][c]\n}\nbuf[0][0] = bof[1][0]")),
            "2:unknown_operator 6:unknown_buffer");
  EXPECT_EQ(told(allreduce("for s 0 ..< ranks {\n  let c = s\n}\nbuf[0][0] = bof[1][0]")),
            "2:expected_in 5:unknown_buffer");
}

TEST(Recovery, AFaultyHeadHidesNotTheBody) {
  EXPECT_EQ(told("algorithm a(k = ) implements allreduce {\n  let x = k + nought\n  buf[1][0] += buf[0][0]\n}\n"),
            "1:expected_expression 2:unknown_name");
  // Which collective it is decides whether there is a root.
  EXPECT_EQ(told("algorithm a implement broadcast(root) {\n  let x = root + nought\n}\n"),
            "1:expected_implements 2:unknown_name");
  EXPECT_EQ(told("algorithm a implements brodcast(root) {\n  let x = root + nought\n}\n"),
            "1:unknown_collective 2:unknown_name");
}

TEST(Recovery, FunctionsAndCollectivesOfFaultyItemsAreNotUnknown) {
  EXPECT_EQ(told("funtion up(r) = r + 1\ncollectiv pair {\n  chunks in 1, out 1\n}\nfunction down(r, = r\n"
                 "algorithm a implements pair {\n  let x = up(1) + down(2)\n  if up(1) { out[x][0] = in[0][0] }\n}\n"),
            "1:expected_item 2:expected_item 5:expected_name");
}

TEST(Recovery, ALostBraceDoesNotMoveDeclarations) {
  EXPECT_EQ(told(allreduce("  chunks 2\n  for r in 1 ..< ranks {\n    buf[r][0] += bof[r][0]\n  tmp t[2]\n  let q = r\n"
                           "  for r in 1 ..< ranks { t[r][0] = buf[q][nought] }")),
            "3:unclosed_brace 4:unknown_buffer 7:unknown_name");
}

TEST(Recovery, ValuesOfUnknownKindFitEverywhere) {
  EXPECT_EQ(
      told(allreduce("if is_leaf(2) { buf[1][0] += buf[0][0] }\nlet x = nought\nif x || x == true { let y = x + 1 }")),
      "2:unknown_function 3:unknown_name");
}

TEST(Recovery, ErrorsOfOtherAlgorithmsAreErrorsOfTheFile) {
  std::string text =
      "algorithm a implements allreduce { buf[1][0] += buf[0][0] }\n"
      "algorithm b implements allreduce { chunk 2 }\n";
  ElaborateOptions o;
  o.algorithm = "a";
  EXPECT_EQ(told(text, o), "2:expected_statement");
  // And none is elaborated: quietly, since parse has told why.
  SourceFile file("test.coll", text);
  Diagnostics parsing, elaboration;
  auto tree = parse(file, parsing);
  o.ranks = 4;
  EXPECT_FALSE(elaborate(*tree, o, elaboration));
  EXPECT_FALSE(elaboration.has_errors());
}

// --- arithmetic on data ---------------------------------------------------------------------------------------------

TEST(Data, AreCombinedByTheOperatorOnly) {
  for (const char* op : {"+", "-", "*", "/", "%", "<", "&&"}) {
    std::string body = std::string("buf[0][0] = buf[1][0] ") + op + " buf[2][0]\nlet x = nought";
    EXPECT_EQ(told(allreduce(body)), "2:data_arithmetic 3:unknown_name") << op;
  }
  EXPECT_EQ(told(allreduce("buf[0][0] += buf[1][0]\n    + buf[2][0]\nlet x = nought")),
            "3:data_arithmetic 4:unknown_name");
  EXPECT_EQ(told(allreduce("buf[0][0] = reduce(buf[1][0] + buf[2][0])")), "2:data_arithmetic");
  expect_part(rendered(allreduce("buf[0][0] = buf[1][0] + buf[2][0]")),
              "hint: data are combined with `+=` or `reduce(a, b)`: `reduce(buf[1][0], ...)`");
}

// --- given names ----------------------------------------------------------------------------------------------------

TEST(GivenNames, AreNotDeclaredAnew) {
  for (const char* name : {"ranks", "nodes", "local", "true", "false", "all", "node", "index", "rank", "min", "max",
                           "log2", "pow2", "rings", "trees"}) {
    std::string n = name;
    EXPECT_EQ(told(allreduce("let " + n + " = 3")), "2:given_name") << n;
    EXPECT_EQ(told(allreduce("for " + n + " in 0 ..< 3 { }")), "2:given_name") << n;
    EXPECT_EQ(told("function f(" + n + ") = 1\n" + allreduce("")), "1:given_name") << n;
    EXPECT_EQ(told("function " + n + "(x) = 1\n" + allreduce("")), "1:given_name") << n;
    EXPECT_EQ(told("algorithm a(" + n + " = 1) implements allreduce { }"), "1:given_name") << n;
  }
  // root, src and dst: where they are given.
  EXPECT_EQ(told("algorithm a implements broadcast { let root = 1 }"), "1:given_name");
  EXPECT_EQ(told("algorithm a implements sendrecv { let dst = 1 }"), "1:given_name");
  EXPECT_EQ(told("function f(root) = root\n" +
                 allreduce("let root = f(1)\nlet src = 2\nfor dst in 0 ..< 2 { buf[dst][0] = buf[root][0] }")),
            "");
  // In a promise a free name is declared by its use; a given one means what it means.
  EXPECT_EQ(told("collective c {\n  chunks in 1, out ranks\n  ensure out[ranks - 1][nodes] == in[0][0]\n}\n"
                 "algorithm a implements c { out[3][1] = in[0][0] }\n"),
            "");
}

// --- absurd sizes ---------------------------------------------------------------------------------------------------

TEST(Limits, ConstantLoopsAreRefusedBeforeTheyRun) {
  double start = cpu_seconds();
  std::string errors = rendered(allreduce("for i in 0 ..< 1000000000000 { buf[i][0] = buf[0][0] }"));
  expect_part(errors, "1000000000000 statements");
  expect_part(errors, "test.coll:2:");
  errors = rendered(allreduce("for i in -500000 ..< 500000, j in 0 ..< 1000000 step 2 {\n  buf[i][0] = buf[j][0]\n}"));
  expect_part(errors, "500000000000 statements");
  // Nothing kept: the iterations count.
  errors = rendered(allreduce("for i in 0 ..< 1000000000000 { for j in i ..< i { buf[0][0] = buf[0][0] } }"));
  expect_part(errors, "1000000000000 steps");
  errors = rendered(allreduce("for i in 0 ..< pow2(62), j in 0 ..< pow2(62) { buf[i][0] = buf[j][0] }"));
  expect_part(errors, "more than 10^18 statements");
  ElaborateOptions o;
  o.ranks = 65536;
  for (const LibraryFile& f : library()) {
    if (std::string(f.name) != "ring") continue;
    expect_part(rendered(f.text, o), "4294901760 statements");
    o.only_rank = 7;
    expect_part(rendered(f.text, o), "steps");
  }
  EXPECT_LT(cpu_seconds() - start, 5);
}

TEST(Limits, OnlyOneRanksPartMayBeOfALargerProgram) {
  ElaborateOptions o;
  o.only_rank = 1;
  o.max_ops = 100;
  EXPECT_EQ(told(allreduce("for i in 0 ..< 250 { buf[i][0] = buf[i + 1][0] }"), o), "2:too_many_statements");
  EXPECT_EQ(told(allreduce("for i in 0 ..< 190 { buf[i][0] = buf[i + 1][0] }"), o), "");
}

TEST(Limits, CallsOfFunctions) {
  double start = cpu_seconds();
  std::string errors = rendered("function fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)\n" +
                                allreduce("let x = fib(60)\nbuf[0][x] = buf[1][0]"));
  expect_part(errors, "[too_many_statements]");
  expect_part(errors, "calls of functions");
  EXPECT_LT(cpu_seconds() - start, 30);  // a second without sanitizers
}

TEST(Limits, PromisesOfACollective) {
  double start = cpu_seconds();
  EXPECT_EQ(told("collective c {\n  chunks in pow2(24), out pow2(24)\n  ensure out[r][c] == in[r][c]\n}\n"
                 "algorithm a implements c { out[0][0] = in[0][0] }\n"),
            "3:too_many_statements");
  EXPECT_LT(cpu_seconds() - start, 5);
}

// --- text -----------------------------------------------------------------------------------------------------------

TEST(Render, ShowsControlBytesAndWhatIsNotUtf8AsEscapes) {
  std::string errors = rendered(allreduce("/* \x1b[31m \xff \xc3\xa9\t\x7f \xc2\x9b */ let x = nought"));
  expect_part(errors,
              "  /* \\x1b[31m \\xff \xc3\xa9\t\\x7f \\xc2\\x9b */ let x = nought\n"
              "                    \t                         ^~~~~~\n");
  errors = rendered(allreduce("let x = \x1b\x02\nlet y = \xff\xfe\nrequire false, \"\x1b[2J\""));
  EXPECT_EQ(errors.find('\x1b'), std::string::npos) << errors;
  EXPECT_EQ(errors.find('\xff'), std::string::npos) << errors;
  // Marks that turn the direction of the text hide code from its reader.
  expect_part(rendered(allreduce("let x = nought // \xe2\x80\xae")), "// \\xe2\\x80\\xae\n");
  expect_part(rendered(allreduce("require ranks == 3, \"\x1b[2J\"")), "error: \\x1b[2J");
}

TEST(Render, KeepsCharactersWholeInLongLinesAndQuotes) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string accents;
    for (int i = 0; i < 200; ++i) accents += "\xc3\xa9";
    std::string errors =
        rendered(allreduce("/*" + std::string(shift, ' ') + accents + "*/ let x = nought /*" + accents + "*/"));
    EXPECT_EQ(errors.find("\\x"), std::string::npos) << errors;
    errors = rendered(allreduce("let x = " + std::string(shift, ' ') + accents));
    EXPECT_EQ(errors.find("\\x"), std::string::npos) << errors;
  }
}

TEST(Source, AByteOrderMarkIsNoText) {
  EXPECT_EQ(told("\xef\xbb\xbf" + allreduce("buf[1][0] += buf[0][0]")), "");
  expect_part(rendered("\xef\xbb\xbf"
                       "algorithm a implements alreduce { }"),
              "test.coll:1:24: error");
}

TEST(Source, ATextThatIsTooLargeIsRefused) {
  SourceFile file("test.coll", allreduce("buf[1][0] += buf[0][0]"), 16);
  EXPECT_TRUE(file.too_large());
  EXPECT_TRUE(file.text().empty());
  Diagnostics diagnostics;
  parse(file, diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, std::string("unreadable_text"));
  EXPECT_FALSE(SourceFile("test.coll", std::string(16, 'x'), 16).too_large());
}

TEST(Source, OfTheLibraryIsCalledAsTheUserCalledIt) {
  SourceFile file("lib:ring", allreduce("buf[1][0] += buf[0][0]\nlet x = 1 / (ranks - 4)"));
  Diagnostics diagnostics;
  auto tree = parse(file, diagnostics);
  ElaborateOptions o;
  o.ranks = 5;
  auto schedule = elaborate(*tree, o, diagnostics);
  ASSERT_TRUE(schedule) << diagnostics.render();
  EXPECT_EQ(schedule->lines.describe(schedule->ops[0].line), "lib:ring:2");
  o.ranks = 4;
  EXPECT_FALSE(elaborate(*tree, o, diagnostics));
  expect_part(diagnostics.render(), "lib:ring:3:9: error");
}

TEST(Speed, TenThousandLinesAreReadAtOnce) {
  std::string body;
  for (int i = 0; i < 10000; ++i)
    body += "  for r in 0 ..< ranks { let c = (r + " + std::to_string(i) + ") % ranks; buf[c][0] = buf[r][0] }\n";
  double start = cpu_seconds();
  EXPECT_EQ(told(allreduce(body)), "");
  EXPECT_LT(cpu_seconds() - start, 2);
}

}  // namespace
}  // namespace coll
