// `collc list`: the library of algorithms that is compiled in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/command.h"
#include "frontend/load.h"
#include "frontend/units.h"

namespace coll {

namespace {

// The lines of the comment at the head of a library file.
std::vector<std::string> head_comment(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with("//")) break;
    size_t begin = line.find_first_not_of(" /");
    size_t end = line.find_last_not_of(" \r");
    lines.push_back(begin == std::string::npos ? "" : line.substr(begin, end - begin + 1));
  }
  return lines;
}

// Its first sentence says what the algorithm is.
std::string first_sentence(const std::vector<std::string>& comment) {
  std::string text;
  for (const std::string& line : comment) {
    text += (text.empty() ? "" : " ") + line;
    size_t stop = text.find(". ");
    if (stop != std::string::npos) return text.substr(0, stop + 1);
    if (line.empty() || text.ends_with('.')) break;
  }
  return text;
}

// `Ranks: any.` says for which rank counts it is.
std::string claimed_ranks(const std::vector<std::string>& comment) {
  constexpr std::string_view kWord = "Ranks: ";
  for (const std::string& line : comment)
    if (line.starts_with(kWord)) return line.substr(kWord.size());
  return {};
}

}  // namespace

int verb_list(const Verb& verb, const Words& words) {
  bool json = false;
  auto app = make_parser(verb);
  app->add_flag("--json", json, "print for machines");
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string lines;
  for (const LibraryFile& f : library()) {
    std::optional<Input> input = read_input(std::string("lib:") + f.name, report);
    std::optional<std::vector<AlgorithmInfo>> all = input ? algorithms_of(*input, report) : std::nullopt;
    if (!all) return report.finish(json, {{"ok", false}});
    std::vector<std::string> comment = head_comment(f.text);
    std::string what = first_sentence(comment), ranks = claimed_ranks(comment);
    for (const AlgorithmInfo& a : *all) {
      nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
      for (const auto& [name, value] : a.parameters) parameters[name] = value;
      // A file's only algorithm is called by the file's name; of several, each by its own.
      bool alone = all->size() == 1;
      nlohmann::ordered_json row = {{"name", alone ? f.name : a.name},
                                    {"collective", a.contract},
                                    {"file", std::string("lib:") + f.name},
                                    {"algorithm", a.name},
                                    {"parameters", parameters},
                                    {"ranks", ranks},
                                    {"what", what}};
      rows.push_back(std::move(row));
      std::string call = alone ? std::string("lib:") + f.name : fmt::format("lib:{} --algorithm {}", f.name, a.name);
      lines += fmt::format("{:<33} {:<15} {}\n", call, a.contract, what);
      if (!ranks.empty()) lines += fmt::format("{:<33} {:<15} ranks: {}\n", "", "", ranks);
    }
  }
  if (json) {
    print_json({{"algorithms", rows}});
  } else {
    fmt::print("{}", lines);
  }
  return report.finish();
}

}  // namespace coll
