#pragma once
// The examples of dsl/README.md: every ```coll block is a complete file.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/frontend.h"

namespace coll::test {

struct Example {
  uint32_t line = 0;  // of the README
  std::string text;
};

inline std::vector<Example> readme_examples() {
  std::ifstream in(std::filesystem::path(__FILE__).parent_path() / "../../dsl/README.md");
  std::vector<Example> list;
  bool inside = false;
  uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line == "```coll") {
      inside = true;
      list.push_back({number + 1, ""});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      list.back().text += line + "\n";
    }
  }
  return list;
}

// `// ranks: 8 nodes: 2 root: 0 dst: 1 algorithm: name params: a=1,b=2` as the first line; 4 ranks without it.
inline ElaborateOptions settings_of(const std::string& text) {
  ElaborateOptions o;
  o.ranks = 4;
  uint32_t nodes = 1;
  std::stringstream words{text.substr(0, text.find('\n'))};
  std::string word, value;
  words >> word;
  if (word != "//") return o;
  while (words >> word >> value) {
    if (word == "ranks:") o.ranks = static_cast<uint32_t>(std::stoul(value));
    if (word == "nodes:") nodes = static_cast<uint32_t>(std::stoul(value));
    if (word == "root:") o.root = static_cast<uint32_t>(std::stoul(value));
    if (word == "dst:") o.dst = static_cast<uint32_t>(std::stoul(value));
    if (word == "algorithm:") o.algorithm = value;
    if (word != "params:") continue;
    std::stringstream list(value);
    for (std::string one; std::getline(list, one, ',');)
      o.parameters[one.substr(0, one.find('='))] = std::stoll(one.substr(one.find('=') + 1));
  }
  if (nodes > 1) o.machine = MachineView::uniform(o.ranks, nodes);
  return o;
}

}  // namespace coll::test
