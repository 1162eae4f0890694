#pragma once
// What an algorithm may know of the machine: plain data that passes fill and dsl reads.
#include <cstdint>
#include <vector>

namespace coll {

struct MachineView {
  // Ranks of each node (NVLink domain, or host with --node-is host), in node order. Node n owns consecutive ranks.
  std::vector<uint32_t> node_sizes;

  static MachineView uniform(uint32_t ranks, uint32_t nodes) {
    // Ranks that do not divide go to the first nodes.
    MachineView view;
    for (uint32_t n = 0; n < nodes; ++n) view.node_sizes.push_back(ranks / nodes + (n < ranks % nodes ? 1 : 0));
    return view;
  }
};

}  // namespace coll
