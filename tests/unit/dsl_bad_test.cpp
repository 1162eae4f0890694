// One small file per diagnostic: what the front end says about tests/bad/*.coll, and on which line, is what the file
// itself expects in its `// expect: id` comments; nothing more, nothing less. And every id has its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "dsl_readme.h"

namespace coll {
namespace {

const std::vector<std::string> kIds = {
#define DIAGNOSTIC(id, text) text,
#include "dsl/diagnostics.def"
#undef DIAGNOSTIC
};

std::filesystem::path folder() { return std::filesystem::path(__FILE__).parent_path().parent_path() / "bad"; }

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

using Findings = std::set<std::pair<uint32_t, std::string>>;  // line, id

Findings expected(const SourceFile& file) {
  Findings found;
  for (uint32_t line = 1; line <= file.line_count(); ++line) {
    std::string text(file.line_text(line));
    size_t at = text.find("// expect: ");
    if (at == std::string::npos) continue;
    std::stringstream ids(text.substr(at + 11));
    for (std::string id; ids >> id;) found.emplace(line, id);
  }
  return found;
}

// A limit that a program without end reaches soon.
ElaborateOptions settings(const SourceFile& file) {
  ElaborateOptions o = test::settings_of(std::string(file.text()));
  o.max_steps = 1'000'000;
  return o;
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> list;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".coll") list.push_back(entry.path());
  std::sort(list.begin(), list.end());
  return list;
}

bool is_ours(const std::string& id) { return std::find(kIds.begin(), kIds.end(), id) != kIds.end(); }

TEST(Bad, EveryFileIsToldExactlyWhatItExpects) {
  int looked_at = 0;
  for (const auto& path : files()) {
    SourceFile file(path.filename().string(), read(path));
    Findings wanted = expected(file);
    bool elsewhere = file.text().find("// expect-anywhere: ") != std::string_view::npos;
    ASSERT_TRUE(elsewhere || !wanted.empty()) << path << " expects nothing";
    // Files about what later stages find are checked by those stages' tests.
    if (std::none_of(wanted.begin(), wanted.end(), [](const auto& w) { return is_ours(w.second); })) continue;
    ++looked_at;
    Diagnostics diagnostics;
    auto tree = parse(file, diagnostics);
    if (tree && !diagnostics.has_errors()) elaborate(*tree, settings(file), diagnostics);
    Findings seen;
    for (const Diagnostic& d : diagnostics.all()) {
      seen.emplace(file.line_of(d.range.begin), d.id);
      EXPECT_FALSE(d.message.empty());
      EXPECT_NE(d.message.back(), '.') << d.message;
    }
    EXPECT_EQ(seen, wanted) << path.filename() << "\n" << diagnostics.render();
  }
  EXPECT_GE(looked_at, 60);
}

TEST(Bad, EveryDiagnosticHasItsFile) {
  std::set<std::string> unique(kIds.begin(), kIds.end());
  EXPECT_EQ(unique.size(), kIds.size());
  for (const std::string& id : kIds) {
    std::string text = read(folder() / (id + ".coll"));
    EXPECT_NE(text.find("// expect: " + id), std::string::npos) << "tests/bad/" << id << ".coll";
  }
}

}  // namespace
}  // namespace coll
