// `collc targets`: what this build and this machine can run, and why the rest cannot.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "frontend/command.h"
#include "frontend/report.h"
#include "runtime/cpu/kernels.h"

namespace coll {

namespace {

struct Target {
  std::string name;
  bool usable = false;
  std::string detail;  // of what is there, or why not
};

std::vector<Target> targets() {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return {
      {"cpu", true,
       fmt::format("ranks as threads on {} core{}; vector loops for {}", cores, cores == 1 ? "" : "s",
                   kernels::instruction_set())},
      {"ptx", false, "no PTX code generator in this version"},
      {"cuda", false, "no CUDA code generator in this version"},
      {"rdma", false, "no transport between hosts in this version"},
  };
}

}  // namespace

int verb_targets(const Verb& verb, const Words& words) {
  bool json = false;
  auto app = make_parser(verb);
  app->add_flag("--json", json, "print for machines");
  if (auto status = parse_words(*app, words)) return *status;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Target& t : targets()) {
    if (json) {
      rows.push_back({{"name", t.name}, {"usable", t.usable}, {"detail", t.detail}});
    } else {
      fmt::print("{:<5} {:<4} {}\n", t.name, t.usable ? "yes" : "no", t.detail);
    }
  }
  if (json) print_json({{"targets", rows}});
  return kExitRight;
}

}  // namespace coll
