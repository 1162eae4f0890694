#include "frontend/limits.h"

#include "frontend/report.h"
#include "frontend/units.h"

namespace coll {

namespace {

TargetLimits limits(const char* name, uint32_t lanes, uint32_t channels, uint32_t steps, uint32_t peers) {
  TargetLimits l;
  l.name = name;
  l.max_lanes_per_rank = lanes;
  l.max_channels = channels;
  l.max_steps_per_lane = steps;
  l.max_peers_per_lane = peers;
  return l;
}

constexpr uint32_t kNoLimit = UINT32_MAX;

}  // namespace

// A thread block is a lane. The tables in their sources are fixed-size arrays, so a plan past one is refused at load,
// or (MSCCL++'s channels of a block) overwrites what lies behind it.
const std::vector<TargetLimits>& known_limits() {
  static const std::vector<TargetLimits> all = {
      // microsoft/msccl: MSCCL_MAX_NUM_STEPS 256 and 216 thread blocks a GPU; channels are NCCL 2.12's MAXCHANNELS 32.
      // A thread block of MSCCL-IR has one `send` and one `recv` peer.
      limits("msccl", 216, 32, 256, 1),
      // Azure's executor for NCCL, and RCCL since 2024: 64 steps in the default build; 32 thread blocks a channel in
      // the former.
      limits("msccl-azure", 32 * 32, 32, 64, 1),
      // MSCCL++ execution plans: 64 operations and 16 channels of a type in a thread block.
      limits("mscclpp", kNoLimit, kNoLimit, 64, 16),
      // Our own kernels: one thread block a lane, all of them resident at once because lanes wait for each other; an
      // H100 has 132 multiprocessors. Steps are code, and a block addresses any number of peers.
      limits("cuda", 132, kNoLimit, kNoLimit, kNoLimit),
  };
  return all;
}

std::vector<TargetLimits> read_limits(const std::string& text, Report& report) {
  std::vector<TargetLimits> chosen;
  if (text.empty()) return chosen;
  std::vector<std::string> names;
  for (const TargetLimits& l : known_limits()) names.push_back(l.name);
  for (const std::string& word : split(text, ','))
    if (auto at = read_choice("--limits", word, names, report)) chosen.push_back(known_limits()[*at]);
  return chosen;
}

}  // namespace coll
