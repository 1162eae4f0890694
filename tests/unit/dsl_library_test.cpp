// Every algorithm of the library is right for every rank count that it claims, and refuses the others by its own
// `require`.
//
// The judge is made for this test and shares nothing with the verifier: it runs the Schedule in program order, which is
// the meaning of a .coll file, on exact contents. A value is a node of a graph of sums, interned so that equal sums are
// the same node, with the two operands of a sum unordered (a + b and b + a have the same bits); a node knows how often
// each (rank, block, part) of somebody's `in` is counted in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "dsl/frontend.h"

namespace coll {
namespace {

constexpr uint32_t kNothing = 0;  // the value of a place that nobody wrote

struct Contribution {
  uint32_t rank = 0, block = 0, part = 0;
  auto operator<=>(const Contribution&) const = default;
};

class Values {
 public:
  using Counted = std::vector<std::pair<Contribution, uint64_t>>;  // sorted, counts at least 1

  uint32_t leaf(const Contribution& c) {
    auto [it, is_new] = leaves_.try_emplace(c, next());
    if (is_new) contents_.push_back({{c, 1}});
    return it->second;
  }

  uint32_t sum(uint32_t a, uint32_t b) {
    auto [it, is_new] = sums_.try_emplace(std::minmax(a, b), next());
    if (is_new) contents_.push_back(merge(contents_[a], contents_[b]));
    return it->second;
  }

  const Counted& contents(uint32_t value) const { return contents_[value]; }

 private:
  uint32_t next() const { return static_cast<uint32_t>(contents_.size()); }

  static Counted merge(const Counted& a, const Counted& b) {
    Counted merged;
    for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
      if (j == b.end() || (i != a.end() && i->first < j->first)) {
        merged.push_back(*i++);
      } else if (i == a.end() || j->first < i->first) {
        merged.push_back(*j++);
      } else {
        merged.emplace_back(i->first, i->second + j->second);
        ++i, ++j;
      }
    }
    return merged;
  }

  std::vector<Counted> contents_{1};  // of value 0: kNothing
  std::map<Contribution, uint32_t> leaves_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> sums_;
};

// Runs a schedule and compares what it leaves with the contract. The answer is the first fault, or an empty string.
class Judge {
 public:
  Judge(const Schedule& schedule, bool in_place)
      : schedule_(schedule), contract_(schedule.contract), in_place_(in_place) {
    for (uint16_t g = 0; g < schedule.grids.size(); ++g) {
      grids_.emplace_back();
      for (uint32_t r = 0; r < contract_.ranks; ++r) {
        std::vector<std::vector<uint32_t>>& buffers = grids_.back().emplace_back();
        for (uint16_t b = 0; b < buffers::kFirstTmp + schedule.tmps.size(); ++b)
          buffers.emplace_back(schedule.places(r, b, g), kNothing);
        for (uint32_t i = 0; i < buffers[buffers::kIn].size(); ++i) {
          uint32_t parts = schedule.grids[g].parts;
          buffers[buffers::kIn][i] = values_.leaf({r, i / parts, i % parts});
        }
        if (in_place_) {
          const std::vector<uint32_t>& in = buffers[buffers::kIn];
          std::copy(in.begin(), in.end(), buffers[buffers::kBuf].begin() + shift(r, buffers::kIn, g));
        }
      }
    }
  }

  std::string run() {
    for (const ScheduleOp& op : schedule_.ops) {
      step(op);
      if (!fault_.empty()) return fault_ + " at " + schedule_.lines.describe(op.line);
    }
    for (uint16_t g = 0; g < grids_.size() && fault_.empty(); ++g)
      for (uint32_t r = 0; r < contract_.ranks && fault_.empty(); ++r)
        for (uint32_t i = 0; i < grids_[g][r][buffers::kOut].size() && fault_.empty(); ++i) check_out(g, r, i);
    return fault_;
  }

 private:
  void fail(const std::string& what, uint32_t rank, uint32_t place) {
    if (fault_.empty()) fault_ = what + ": rank " + std::to_string(rank) + ", place " + std::to_string(place);
  }

  // Place of `buf` at which place 0 of a rank's in or out lies.
  uint32_t shift(uint32_t rank, uint16_t buffer, uint16_t grid) const {
    uint32_t blocks = buffer == buffers::kIn ? contract_.in_offset(rank) : contract_.out_offset(rank);
    return blocks * schedule_.grids[grid].parts;
  }

  // What is written to `out` or `buf` lives in `buf`; `in` keeps its own values out of place.
  uint32_t read(uint16_t grid, uint32_t rank, uint16_t buffer, uint32_t place) {
    std::vector<std::vector<uint32_t>>& memory = grids_[grid][rank];
    if (place >= memory[buffer].size()) {
      fail("read out of bounds", rank, place);
      return kNothing;
    }
    if (buffer == buffers::kIn && !in_place_) return memory[buffers::kIn][place];
    if (buffer == buffers::kIn || buffer == buffers::kOut)
      return memory[buffers::kBuf][place + shift(rank, buffer, grid)];
    uint32_t value = memory[buffer][place];
    if (buffer != buffers::kBuf || value != kNothing) return value;
    uint32_t in_begin = shift(rank, buffers::kIn, grid);
    bool has_in = place >= in_begin && place - in_begin < memory[buffers::kIn].size();
    return has_in ? memory[buffers::kIn][place - in_begin] : kNothing;
  }

  void write(uint16_t grid, uint32_t rank, uint16_t buffer, uint32_t place, uint32_t value) {
    std::vector<std::vector<uint32_t>>& memory = grids_[grid][rank];
    if (buffer == buffers::kIn) return fail("write to in", rank, place);
    if (place >= memory[buffer].size()) return fail("write out of bounds", rank, place);
    if (buffer < buffers::kFirstTmp) {
      uint32_t part = place % schedule_.grids[grid].parts;
      for (const auto& [contribution, count] : values_.contents(value))
        if (!fits_for_every_count(contribution.part, part)) return fail("part that may not fit", rank, place);
    }
    if (buffer == buffers::kOut) place += shift(rank, buffer, grid), buffer = buffers::kBuf;
    memory[buffer][place] = value;
  }

  std::vector<uint32_t> ranks_of(const Place& place) const {
    if (place.rank != kAllRanks) return {place.rank};
    std::vector<uint32_t> all;
    for (uint32_t r = 0; r < contract_.ranks; ++r) all.push_back(r);
    return all;
  }

  void step(const ScheduleOp& op) {
    std::vector<uint32_t> results(op.length, kNothing);
    for (uint32_t i = 0; i < op.length && fault_.empty(); ++i) {
      auto add = [&](const Place& place) {
        for (uint32_t rank : ranks_of(place)) {
          uint32_t value = read(op.grid, rank, place.buffer, place.place + i);
          if (value == kNothing) return fail("read of what nobody wrote", rank, place.place + i);
          results[i] = results[i] == kNothing ? value : values_.sum(results[i], value);
        }
      };
      if (op.kind == ScheduleOp::Kind::kAccumulate) add(op.dst);
      for (uint32_t s = 0; s < op.source_count; ++s) add(schedule_.sources[op.first_source + s]);
    }
    for (uint32_t i = 0; i < op.length && fault_.empty(); ++i)
      for (uint32_t rank : ranks_of(op.dst)) write(op.grid, rank, op.dst.buffer, op.dst.place + i, results[i]);
  }

  void check_out(uint16_t grid, uint32_t rank, uint32_t place) {
    uint32_t parts = schedule_.grids[grid].parts;
    uint32_t part = place % parts;
    Expectation expectation = contract_.expect(rank, place / parts);
    if (expectation.kind == Expectation::Kind::kAny) return;
    bool shared = contract_.kind != ContractKind::kCustom;  // then a place of `out` that nobody wrote shows `in`
    uint32_t buf_place = place + shift(rank, buffers::kOut, grid);
    uint32_t value = shared ? read(grid, rank, buffers::kBuf, buf_place) : read(grid, rank, buffers::kOut, place);
    if (value == kNothing) return fail("result that nobody wrote", rank, place);

    std::set<Contribution> wanted;
    for (const InBlock& from : expectation.list) wanted.insert({from.rank, from.block, part});
    if (expectation.all_ranks)
      for (uint32_t r = 0; r < contract_.ranks; ++r) wanted.insert({r, expectation.block, part});
    const Values::Counted& contents = values_.contents(value);
    if (contents.size() != wanted.size()) return fail("wrong contributions", rank, place);
    for (const auto& [contribution, count] : contents) {
      if (!wanted.contains(contribution)) return fail("wrong contribution", rank, place);
      if (count != 1 && expectation.kind != Expectation::Kind::kCovered) return fail("counted twice", rank, place);
    }
    if (contract_.kind == ContractKind::kAllReduce) {
      auto [it, is_first] = sums_.try_emplace({grid, place}, value);
      if (!is_first && it->second != value) fail("other bits than on other ranks", rank, place);
    }
  }

  const Schedule& schedule_;
  const Contract& contract_;
  bool in_place_;
  Values values_;
  std::vector<std::vector<std::vector<std::vector<uint32_t>>>> grids_;  // [grid][rank][buffer][place]
  std::map<std::pair<uint16_t, uint32_t>, uint32_t> sums_;              // all-reduce: value of a place on some rank
  std::string fault_;
};

std::string judge(const Schedule& schedule) {
  std::string fault = Judge(schedule, false).run();
  if (!fault.empty()) return "out of place, " + fault;
  if (!schedule.contract.offers_inplace()) return "";
  fault = Judge(schedule, true).run();
  return fault.empty() ? "" : "in place, " + fault;
}

enum class Claim { kAny, kPowerOfTwo, kEqualNodes };

std::filesystem::path tree() { return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path(); }

std::map<std::string, Claim> claims() {
  const std::map<std::string, Claim> words = {
      {"any", Claim::kAny}, {"power_of_two", Claim::kPowerOfTwo}, {"equal_nodes", Claim::kEqualNodes}};
  std::map<std::string, Claim> result;
  std::ifstream file(tree() / "tests/property/library_ranks.txt");
  for (std::string line; std::getline(file, line);) {
    std::string name, word;
    std::istringstream fields(line);
    if (line.starts_with("#") || !(fields >> name >> word)) continue;
    EXPECT_TRUE(words.contains(word)) << line;
    if (words.contains(word)) result[name] = words.at(word);
  }
  return result;
}

bool claimed(Claim claim, uint32_t ranks, uint32_t nodes) {
  if (claim == Claim::kPowerOfTwo) return (ranks & (ranks - 1)) == 0;
  if (claim == Claim::kEqualNodes) return ranks % nodes == 0;
  return true;
}

std::vector<uint32_t> some_ranks(uint32_t ranks) {
  std::vector<uint32_t> result;
  for (uint32_t r = 0; r < ranks; ++r)
    if (ranks <= 9 || r == 0 || r == ranks / 2 || r == ranks - 1) result.push_back(r);
  return result;
}

class LibraryAlgorithm : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<LibraryFile>& files = library();
    auto it = std::find_if(files.begin(), files.end(), [](const LibraryFile& f) { return f.name == GetParam(); });
    ASSERT_NE(it, files.end());
    source_ = std::make_unique<SourceFile>("lib:" + GetParam(), it->text);
    file_ = parse(*source_, diagnostics_);
    ASSERT_TRUE(file_ && !diagnostics_.has_errors()) << diagnostics_.render();
    infos_ = algorithms(*file_);
    ASSERT_EQ(infos_.size(), 1u);
  }

  // Empty if the algorithm does for this world what it claims.
  std::string check(Claim claim, const ElaborateOptions& options) {
    Diagnostics diagnostics;
    std::optional<Schedule> schedule = elaborate(*file_, options, diagnostics);
    if (claimed(claim, options.ranks, static_cast<uint32_t>(options.machine.node_sizes.size())))
      return !schedule || diagnostics.has_errors() ? diagnostics.render() : judge(*schedule);
    if (!diagnostics.has_errors()) return "not refused";
    for (const Diagnostic& d : diagnostics.all())
      if (d.id != std::string("require_failed")) return "refused, but not by require: " + diagnostics.render();
    return "";
  }

  std::unique_ptr<SourceFile> source_;
  Diagnostics diagnostics_;
  std::shared_ptr<const ast::File> file_;
  std::vector<AlgorithmInfo> infos_;
};

TEST_P(LibraryAlgorithm, IsNamedLikeItsFile) { EXPECT_EQ(infos_[0].name, GetParam()); }

TEST_P(LibraryAlgorithm, IsFormatted) { EXPECT_EQ(format(*source_, diagnostics_), source_->text()); }

TEST_P(LibraryAlgorithm, HasItsRowInTheTable) {
  std::ifstream readme(tree() / "dsl/lib/README.md");
  std::string begin = "| " + GetParam() + " | " + (infos_[0].contract == "all_to_next" ? "its own: " : "");
  bool found = false;
  for (std::string line; std::getline(readme, line);)
    found = found || line.starts_with(begin + infos_[0].contract + " |");
  EXPECT_TRUE(found) << "no row in dsl/lib/README.md begins with: " << begin << infos_[0].contract;
}

TEST_P(LibraryAlgorithm, IsRightForEveryWorldItClaims) {
  std::map<std::string, Claim> all = claims();
  ASSERT_TRUE(all.contains(GetParam())) << "add it to tests/property/library_ranks.txt";
  Claim claim = all[GetParam()];
  std::optional<ContractKind> kind = parse_contract_kind(infos_[0].contract);
  bool pair = kind == ContractKind::kSendRecv;
  bool rooted = pair || (kind && Contract{.kind = *kind}.has_root());

  std::vector<uint32_t> counts = {64};
  for (uint32_t n = 1; n <= 17; ++n) counts.push_back(n);
  for (uint32_t ranks : counts) {
    uint32_t most_nodes = claim == Claim::kEqualNodes ? std::min(ranks, 4u) : 1;
    for (uint32_t nodes = 1; nodes <= most_nodes; ++nodes)
      for (uint32_t root : rooted ? some_ranks(ranks) : std::vector<uint32_t>{0})
        for (uint32_t dst : pair ? some_ranks(ranks) : std::vector<uint32_t>{0}) {
          ElaborateOptions options;
          options.ranks = ranks;
          options.root = root;
          options.dst = dst;
          options.machine = MachineView::uniform(ranks, nodes);
          ASSERT_EQ(check(claim, options), "")
              << ranks << " ranks, " << nodes << " nodes, root " << root << ", dst " << dst;
        }
  }
}

// Parameters change the cut; 1 and a number that divides nothing are the corners.
TEST_P(LibraryAlgorithm, IsRightForOtherParameters) {
  Claim claim = claims()[GetParam()];
  for (const auto& [parameter, usual] : infos_[0].parameters)
    for (int64_t value : {int64_t{1}, int64_t{3}, usual + 1})
      for (uint32_t ranks : {1u, 2u, 6u, 8u}) {
        ElaborateOptions options;
        options.ranks = ranks;
        options.dst = ranks - 1;
        options.machine = MachineView::uniform(ranks, 1);
        options.parameters[parameter] = value;
        ASSERT_EQ(check(claim, options), "") << ranks << " ranks, " << parameter << " = " << value;
      }
}

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const LibraryFile& file : library()) names.emplace_back(file.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, LibraryAlgorithm, testing::ValuesIn(library_names()),
                         [](const auto& info) { return info.param; });

TEST(Library, EveryClaimHasItsFile) {
  std::vector<std::string> names = library_names();
  for (const auto& [name, claim] : claims()) EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

// The examples, by the same judge.
std::string judge_example(const std::string& name, const ElaborateOptions& options) {
  std::ifstream stream(tree() / "examples" / name);
  std::ostringstream text;
  text << stream.rdbuf();
  SourceFile source(name, text.str());
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> file = parse(source, diagnostics);
  if (!file || diagnostics.has_errors()) return diagnostics.render();
  std::optional<Schedule> schedule = elaborate(*file, options, diagnostics);
  return schedule && !diagnostics.has_errors() ? judge(*schedule) : diagnostics.render();
}

TEST(Examples, AreRight) {
  for (uint32_t ranks = 1; ranks <= 12; ++ranks) {
    ElaborateOptions options;
    options.ranks = ranks;
    options.machine = MachineView::uniform(ranks, 1);
    EXPECT_EQ(judge_example("ring.coll", options), "") << ranks;
    for (uint32_t nodes = 1; nodes <= ranks; ++nodes) {
      if (ranks % nodes != 0) continue;
      options.machine = MachineView::uniform(ranks, nodes);
      EXPECT_EQ(judge_example("hierarchical.coll", options), "") << ranks << " ranks, " << nodes << " nodes";
    }
    for (int64_t width = 1; width <= 3; ++width) {
      options.parameters["width"] = width;
      EXPECT_EQ(judge_example("halo.coll", options), "") << ranks << " ranks, width " << width;
    }
  }
}

// The judge itself: it must refuse what is wrong.
std::string judge_text(const std::string& text, uint32_t ranks) {
  SourceFile source("test.coll", text);
  Diagnostics diagnostics;
  std::shared_ptr<const ast::File> file = parse(source, diagnostics);
  ElaborateOptions options;
  options.ranks = ranks;
  options.machine = MachineView::uniform(ranks, 1);
  std::optional<Schedule> schedule;
  if (file && !diagnostics.has_errors()) schedule = elaborate(*file, options, diagnostics);
  return schedule && !diagnostics.has_errors() ? judge(*schedule) : "rejected: " + diagnostics.render();
}

TEST(Judge, RefusesAMissingContribution) {
  std::string fault = judge_text(R"(algorithm a implements allreduce {
  chunks 1
  for r in 0 ..< ranks - 2 { buf[r + 1][0] += buf[r][0] }
  for r in 0 ..< ranks - 1 { buf[r][0] = buf[ranks - 1][0] }
})",
                                 4);
  EXPECT_NE(fault.find("wrong contributions: rank 0"), std::string::npos) << fault;
}

TEST(Judge, RefusesAContributionCountedTwice) {
  std::string fault = judge_text(R"(algorithm a implements allreduce {
  chunks 1
  buf[0][0] += buf[1][0]
  buf[1][0] += buf[0][0]
  buf[0][0] = buf[1][0]
})",
                                 2);
  EXPECT_NE(fault.find("counted twice"), std::string::npos) << fault;
}

TEST(Judge, RefusesOtherBits) {
  std::string fault = judge_text(R"(algorithm a implements allreduce {
  chunks 1
  tmp got[ranks]
  for r in 0 ..< ranks, i in 1 ..< ranks { got[r][i] = buf[r + i][0] }
  for r in 0 ..< ranks, i in 1 ..< ranks { buf[r][0] += got[r][i] }
})",
                                 3);
  EXPECT_NE(fault.find("other bits than on other ranks"), std::string::npos) << fault;
}

TEST(Judge, RefusesWhatIsRightOnlyOutOfPlace) {
  std::string fault = judge_text(R"(algorithm a implements alltoall {
  chunks 1
  for r in 0 ..< ranks, s in 0 ..< ranks { out[r][s] = in[s][r] }
})",
                                 3);
  EXPECT_NE(fault.find("in place, wrong contribution"), std::string::npos) << fault;
}

TEST(Judge, RefusesAWrongBlock) {
  std::string fault = judge_text(R"(algorithm a implements allgather {
  chunks 1
  for r in 0 ..< ranks, i in 1 ..< ranks { buf[r][r + i] = buf[r - i][r - i] }
})",
                                 3);
  EXPECT_NE(fault.find("wrong contribution"), std::string::npos) << fault;
}

}  // namespace
}  // namespace coll
