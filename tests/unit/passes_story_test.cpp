// Stories of refusals, as their reader sees them: every program and plan of tests/golden/stories is refused, and what
// is said about it is the text beside it (NAME.story). COLL_REWRITE_STORIES=1 writes the texts anew; read the
// difference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/frontend.h"
#include "ir/plan_text.h"
#include "ir/verify.h"
#include "passes/lower.h"

namespace coll {
namespace {

std::filesystem::path folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path() / "golden" / "stories";
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A program is compiled for 4 ranks.
std::optional<Plan> plan_of(const SourceFile& file, bool program, Diagnostics& diagnostics) {
  if (!program) return parse_plan(file, diagnostics);
  std::shared_ptr<const ast::File> ast = parse(file, diagnostics);
  if (ast == nullptr) return std::nullopt;
  ElaborateOptions options;
  options.ranks = 4;
  options.machine = MachineView::uniform(options.ranks, 1);
  std::optional<Schedule> schedule = elaborate(*ast, options, diagnostics);
  if (!schedule) return std::nullopt;
  return lower(*schedule, {}, diagnostics);
}

class Story : public ::testing::TestWithParam<std::string> {};

TEST_P(Story, IsToldAsWritten) {
  std::filesystem::path path = folder() / GetParam();
  SourceFile file(GetParam(), read(path));
  Diagnostics diagnostics;
  std::optional<Plan> plan = plan_of(file, path.extension() == ".coll", diagnostics);
  ASSERT_TRUE(plan) << diagnostics.render();

  VerifyResult result = verify(*plan);
  EXPECT_EQ(result.verdict, Verdict::kRefused);
  std::string told = render(result);
  EXPECT_LE(std::count(told.begin(), told.end(), '\n'), 5) << told;

  // Exact contents and fingerprints come to the same story.
  for (auto contents : {VerifyOptions::Contents::kExact, VerifyOptions::Contents::kFingerprint}) {
    VerifyOptions options;
    options.contents = contents;
    EXPECT_EQ(render(verify(*plan, options)), told);
  }

  std::filesystem::path expected = path;
  expected.replace_extension(".story");
  if (std::getenv("COLL_REWRITE_STORIES") != nullptr) {
    std::ofstream(expected, std::ios::binary) << told;
    return;
  }
  EXPECT_EQ(told, read(expected)) << "COLL_REWRITE_STORIES=1 rewrites " << expected;
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".coll" || entry.path().extension() == ".plan")
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Story, ::testing::ValuesIn(files()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// The ring that has been published is refused with its first wrong chunk, at the statement that spoils it.
TEST(PublishedRing, IsRefusedWithItsFirstWrongChunk) {
  SourceFile file("published_ring.coll", read(folder() / "published_ring.coll"));
  Diagnostics diagnostics;
  std::optional<Plan> plan = plan_of(file, true, diagnostics);
  ASSERT_TRUE(plan) << diagnostics.render();
  VerifyResult result = verify(*plan);
  EXPECT_EQ(result.story.fault, Fault::kWrong);
  EXPECT_EQ(result.story.line, "published_ring.coll:19");
  EXPECT_NE(file.line_text(19).find("accumulator[r][i] +="), std::string::npos);
  ASSERT_FALSE(result.story.lines.empty());
  EXPECT_EQ(result.story.lines[0].rfind("rank 0 out[0] must hold in[0] of every rank", 0), 0u) << result.story.lines[0];
}

}  // namespace
}  // namespace coll
