// Every fault that the readers of plan and schedule text report is earned by a small file under tests/bad: the lines
// that end in `# expect: <id>` are exactly those complained about.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/diagnostics.h"
#include "ir/plan_text.h"

namespace coll {
namespace {

namespace fs = std::filesystem;

fs::path bad_folder() { return fs::path(__FILE__).parent_path().parent_path() / "bad"; }

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

using Expected = std::multiset<std::pair<uint32_t, std::string>>;  // line, id

Expected expectations(const SourceFile& file) {
  static const std::string kMark = "# expect: ";
  Expected list;
  for (uint32_t l = 1; l <= file.line_count(); ++l) {
    std::string line(file.line_text(l));
    if (size_t at = line.find(kMark); at != std::string::npos) list.insert({l, line.substr(at + kMark.size())});
  }
  return list;
}

std::vector<fs::path> bad_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(bad_folder()))
    if (entry.path().extension() == ".plan" || entry.path().extension() == ".schedule") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(IrBad, EachFileEarnsWhatItExpects) {
  ASSERT_GE(bad_files().size(), 40u);
  for (const fs::path& path : bad_files()) {
    SourceFile file(path.filename().string(), read_file(path));
    Diagnostics diagnostics;
    bool accepted = path.extension() == ".plan" ? parse_plan(file, diagnostics).has_value()
                                                : parse_schedule(file, diagnostics).has_value();
    EXPECT_FALSE(accepted) << path;
    Expected seen;
    for (const Diagnostic& d : diagnostics.all()) {
      ASSERT_EQ(d.range.file, &file) << path;
      seen.insert({file.line_of(d.range.begin), d.id});
    }
    EXPECT_FALSE(expectations(file).empty()) << path << " expects nothing";
    EXPECT_EQ(seen, expectations(file)) << path << "\n" << diagnostics.render();
  }
}

TEST(IrBad, EveryIdIsEarned) {
  std::set<std::string> earned;
  for (const fs::path& path : bad_files())
    for (const auto& [line, id] : expectations(SourceFile(path.filename().string(), read_file(path))))
      earned.insert(id);
  static const char* const kIds[] = {
#define DIAGNOSTIC(id, name) name,
#include "ir/diagnostics.def"
#undef DIAGNOSTIC
  };
  for (const char* id : kIds) EXPECT_TRUE(earned.contains(id)) << id << " has no file under tests/bad";
  std::set<std::string> known(std::begin(kIds), std::end(kIds));
  EXPECT_EQ(known.size(), std::size(kIds)) << "an id is listed twice";
}

TEST(IrBad, MessagesKeepTheHouseForm) {
  for (const fs::path& path : bad_files()) {
    SourceFile file(path.filename().string(), read_file(path));
    Diagnostics diagnostics;
    if (path.extension() == ".plan") {
      parse_plan(file, diagnostics);
    } else {
      parse_schedule(file, diagnostics);
    }
    for (const Diagnostic& d : diagnostics.all()) {
      EXPECT_FALSE(d.message.empty());
      EXPECT_FALSE(std::isupper(static_cast<unsigned char>(d.message[0]))) << d.message;
      EXPECT_NE(d.message.back(), '.') << d.message;
    }
  }
}

}  // namespace
}  // namespace coll
