// One small file per diagnostic of the passes: tests/bad/<id>.coll earns it on the line that says `// expect: id`, or
// (for what has no line) says `// expect-anywhere: id`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/frontend.h"
#include "passes/lower.h"

namespace coll {
namespace {

const std::vector<std::string> kIds = {
#define DIAGNOSTIC(id, name) name,
#include "passes/diagnostics.def"
#undef DIAGNOSTIC
};

std::string word_after(std::string_view line, std::string_view key) {
  size_t at = line.find(key);
  if (at == std::string_view::npos) return "";
  std::stringstream rest{std::string(line.substr(at + key.size()))};
  std::string word;
  rest >> word;
  return word;
}

class PassesBad : public ::testing::TestWithParam<std::string> {};

TEST_P(PassesBad, IsReportedWhereTheFileSays) {
  std::filesystem::path path =
      std::filesystem::path(__FILE__).parent_path().parent_path() / "bad" / (GetParam() + ".coll");
  std::ifstream in(path);
  ASSERT_TRUE(in) << "no file earns this diagnostic: " << path;
  std::stringstream text;
  text << in.rdbuf();
  SourceFile file(path.filename().string(), text.str());
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> ast = parse(file, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  ElaborateOptions options;
  options.ranks = static_cast<uint32_t>(std::stoul(word_after(file.line_text(1), "ranks:")));
  std::string only = word_after(file.line_text(1), "only:");
  if (!only.empty()) options.only_rank = static_cast<uint32_t>(std::stoul(only));
  std::optional<Schedule> schedule = elaborate(*ast, options, diagnostics);
  ASSERT_TRUE(schedule) << diagnostics.render();
  LowerOptions how;
  if (word_after(file.line_text(1), "transfers:") == "put") how.transfers = LowerOptions::Transfers::kPut;
  EXPECT_FALSE(lower(*schedule, how, diagnostics));
  ASSERT_EQ(diagnostics.error_count(), 1u) << diagnostics.render();
  const Diagnostic& d = diagnostics.all()[0];
  EXPECT_EQ(d.id, GetParam());
  EXPECT_FALSE(d.message.empty());
  uint32_t expected_line = 0;
  bool anywhere = false;
  for (uint32_t line = 1; line <= file.line_count(); ++line) {
    if (word_after(file.line_text(line), "// expect: ") == GetParam()) expected_line = line;
    anywhere |= word_after(file.line_text(line), "// expect-anywhere: ") == GetParam();
  }
  if (anywhere) return;
  ASSERT_NE(d.range.file, nullptr);
  EXPECT_EQ(file.line_of(d.range.begin), expected_line) << diagnostics.render();
}

INSTANTIATE_TEST_SUITE_P(All, PassesBad, ::testing::ValuesIn(kIds), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace coll
