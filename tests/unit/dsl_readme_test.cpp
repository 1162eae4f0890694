// The language reference is true: each of its examples parses and spells out into statements, formats, and survives
// any small damage without a crash or a hang.
#include "dsl_readme.h"

#include <gtest/gtest.h>

#include <random>

#include "dsl/ast.h"

namespace coll {
namespace {

using test::Example;

TEST(Readme, EveryExampleRuns) {
  std::vector<Example> examples = test::readme_examples();
  ASSERT_GE(examples.size(), 25u);
  for (const Example& e : examples) {
    SourceFile file("README.md", e.text);
    Diagnostics diagnostics;
    auto tree = parse(file, diagnostics);
    ASSERT_TRUE(tree && !diagnostics.has_errors()) << "README.md:" << e.line << "\n" << diagnostics.render();
    auto schedule = elaborate(*tree, test::settings_of(e.text), diagnostics);
    ASSERT_TRUE(schedule && !diagnostics.has_errors()) << "README.md:" << e.line << "\n" << diagnostics.render();
    EXPECT_FALSE(schedule->ops.empty()) << e.line;
    EXPECT_EQ(schedule->lines.lines.size(), schedule->line_ranges.size());
    EXPECT_FALSE(print_ast(*tree).empty());
  }
}

// The text without blanks: formatting only moves those.
std::string dense(const std::string& text) {
  std::string s;
  for (char c : text)
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') s += c;
  return s;
}

void expect_formats(const std::string& text, const std::string& where) {
  SourceFile file(where, text);
  Diagnostics diagnostics;
  auto once = format(file, diagnostics);
  ASSERT_TRUE(once) << diagnostics.render();
  EXPECT_EQ(dense(*once), dense(text)) << where;
  SourceFile again(where, *once);
  auto twice = format(again, diagnostics);
  ASSERT_TRUE(twice) << diagnostics.render();
  EXPECT_EQ(*once, *twice) << where;
  // The same tree, too.
  auto before = parse(file, diagnostics), after = parse(again, diagnostics);
  EXPECT_EQ(print_ast(*before), print_ast(*after)) << where;
}

TEST(Format, ExamplesAreIdempotentAndKeepTheirComments) {
  for (const Example& e : test::readme_examples()) expect_formats(e.text, "README.md");
  for (const LibraryFile& f : library()) expect_formats(f.text, f.name);
}

// Blanks and line ends thrown in and taken out between tokens: the formatted text is a fixed point whatever they were.
TEST(Format, IsIdempotentOnMessyText) {
  std::mt19937 random(7);
  for (const Example& e : test::readme_examples()) {
    for (int round = 0; round < 20; ++round) {
      std::string messy;
      for (size_t i = 0; i < e.text.size(); ++i) {
        char c = e.text[i];
        messy += c;
        if (c == ' ' && random() % 3 == 0) messy += "  ";
        if (c == '\n' && random() % 3 == 0) messy += "\n\n";
        if (c == '{' && random() % 4 == 0) messy += "\n // why\n";
        if (c == ',' && random() % 4 == 0) messy += " /* a */";
        if (c == ';' && random() % 2 == 0) messy += "\n\t";
      }
      SourceFile file("messy", messy);
      Diagnostics diagnostics;
      auto once = format(file, diagnostics);
      if (!once) continue;  // a blank in the wrong place
      expect_formats(messy, "messy");
    }
  }
}

TEST(Format, LooksAsItShould) {
  SourceFile file(
      "a.coll",
      "function f ( x )=-x%2 // odd\n\n\n\nalgorithm a(p=1)  implements allreduce\n{\n\n   chunks   p;\n"
      "  // alone\n for r in 1..<ranks step 2{buf[ 0 ] [ 0..<p ]+=buf[r][0..<p] on channel 1}\n"
      "   if !(p==1){ require ranks>1,\"two\" }\n   else { tmp_ [0][0]=reduce(buf[0][0],\n buf[1][0]) }\n\n}\n");
  Diagnostics diagnostics;
  auto text = format(file, diagnostics);
  ASSERT_TRUE(text) << diagnostics.render();
  EXPECT_EQ(*text,
            "function f(x) = -x % 2  // odd\n\nalgorithm a(p = 1) implements allreduce {\n  chunks p;\n"
            "  // alone\n  for r in 1 ..< ranks step 2 { buf[0][0 ..< p] += buf[r][0 ..< p] on channel 1 }\n"
            "  if !(p == 1) { require ranks > 1, \"two\" } else { tmp_[0][0] = reduce(buf[0][0],\n"
            "        buf[1][0]) }\n}\n");
}

// Seeded damage to good programs: whatever comes of it, the front end answers, and with a place for each error.
TEST(Damage, NeverCrashesNorHangs) {
  std::vector<Example> examples = test::readme_examples();
  std::vector<std::string> pieces = {"{",
                                     "}",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     "..<",
                                     "+=",
                                     "=",
                                     "==",
                                     "-",
                                     "!",
                                     "?",
                                     ":",
                                     ",",
                                     ";",
                                     "/*",
                                     "*/",
                                     "//",
                                     "\"",
                                     "\n",
                                     "0",
                                     "-1",
                                     "99999999999999999999",
                                     "for",
                                     "if",
                                     "else",
                                     "let",
                                     "all",
                                     "buf",
                                     "in",
                                     "out",
                                     "tmp",
                                     "reduce",
                                     "1/0",
                                     "ranks",
                                     "pow2(62)",
                                     "return",
                                     "\x01",
                                     "\xc3\xa9",
                                     "chunks",
                                     "ensure",
                                     "function f(x) = f(x)\n",
                                     "algorithm b implements c {"};
  std::mt19937 random(20240607);
  size_t accepted = 0, rounds = 10000;
  for (size_t round = 0; round < rounds; ++round) {
    std::string text = examples[random() % examples.size()].text;
    for (size_t edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.erase(at, random() % 8);
          break;
        case 1:
          text.insert(at, pieces[random() % pieces.size()]);
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random() % 256);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    SourceFile file("damaged.coll", text);
    Diagnostics diagnostics;
    auto tree = parse(file, diagnostics);
    if (tree && !diagnostics.has_errors()) {
      ElaborateOptions o = test::settings_of("");
      o.ranks = 1 + random() % 9;
      o.max_steps = 20'000;
      o.algorithm = algorithms(*tree).empty() ? "" : algorithms(*tree)[0].name;
      auto schedule = elaborate(*tree, o, diagnostics);
      EXPECT_EQ(schedule.has_value(), !diagnostics.has_errors()) << text << diagnostics.render();
      accepted += schedule.has_value();
      if (schedule) {
        // Every place is there: what follows relies on it.
        for (const ScheduleOp& op : schedule->ops) {
          auto inside = [&](const Place& p) {
            uint32_t rank = p.rank == kAllRanks ? 0 : p.rank;
            return rank < o.ranks && uint64_t{p.place} + op.length <= schedule->places(rank, p.buffer, op.grid);
          };
          ASSERT_TRUE(inside(op.dst)) << text;
          for (uint32_t s = 0; s < op.source_count; ++s) ASSERT_TRUE(inside(schedule->sources[op.first_source + s]));
        }
      }
      SourceFile again("damaged.coll", text);
      Diagnostics quiet;
      if (auto once = format(again, quiet)) {
        SourceFile formatted("damaged.coll", *once);
        EXPECT_EQ(format(formatted, quiet), once) << text;
      }
    }
    for (const Diagnostic& d : diagnostics.all()) ASSERT_LE(d.range.end, text.size()) << d.message;
    diagnostics.render();
  }
  EXPECT_GT(accepted, 100u);  // the damage is small enough to reach the later stages
}

// Shapes that make a recursive front end run out of stack, or a careless one quadratic.
TEST(Damage, DeepAndLongTexts) {
  auto repeat = [](const std::string& s, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += s;
    return out;
  };
  std::string head = "algorithm a implements allreduce {\n";
  std::vector<std::string> texts = {
      head + "let x = " + repeat("(", 100000),
      head + "let x = " + repeat("-", 100000) + "1\n}",
      head + "let x = " + repeat("1 + ", 100000) + "1\n}",
      head + "let x = " + repeat("1 ? ", 100000),
      head + "let x = " + repeat("f(", 100000),
      head + repeat("if true { ", 100000),
      head + repeat("if true { } else ", 100000),
      head + repeat("for i in 0 ..< 1 { ", 100000) + repeat("}", 100000),
      repeat("{", 100000),
      repeat("}", 100000),
      repeat("[", 100000),
      repeat("algorithm a ", 30000),
      head + repeat("x\n", 30000),
      repeat("x", 2000000),
      head + "let x = y" + repeat(" y", 30000),
      head + repeat("buf[a][b] = c\n", 30000),
  };
  // A chain of functions, each calling the one before.
  std::string chain = "function f0(x) = x\n";
  for (int i = 1; i < 3000; ++i)
    chain += "function f" + std::to_string(i) + "(x) = f" + std::to_string(i - 1) + "(x) + 1\n";
  texts.push_back(chain + head + "let x = f2999(0)\n}");
  for (const std::string& text : texts) {
    SourceFile file("deep.coll", text);
    Diagnostics diagnostics;
    auto tree = parse(file, diagnostics);
    if (tree && !diagnostics.has_errors()) elaborate(*tree, test::settings_of(""), diagnostics);
    EXPECT_TRUE(diagnostics.has_errors()) << text.substr(0, 80);
    diagnostics.render();
    format(file, diagnostics);
  }
}

}  // namespace
}  // namespace coll
