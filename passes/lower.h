#pragma once
// Schedule IR -> Plan IR. The pipeline is one readable function, see pipeline.cpp.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/plan.h"
#include "ir/schedule.h"
#include "ir/support/diagnostic.h"

namespace coll {

struct LowerOptions {
  enum class Transfers : uint8_t { kStaged, kPut, kGet } transfers = Transfers::kStaged;
  bool fuse = true;
  // Channels and lanes by the load of the whole plan (false: each rank decides from its own statements, which is what
  // `--rank` needs). On by default up to 1,024 ranks.
  std::optional<bool> by_load;
  bool channel_per_flow = false;  // every flow its own channel, as a yardstick
  uint32_t slots = 8;             // k of the target: fusions that would need more are undone
  bool switch_hardware = false;   // multicast and in-switch reduction are available
};

struct PassTime {
  std::string pass;
  double seconds = 0;
};

struct LowerReport {
  std::vector<PassTime> times;
  uint32_t undone_fusions = 0;
  // Called after each pass with its name and a printer of the state then (--print-after).
  std::function<void(const std::string& pass, const std::function<std::string()>& print)> after_pass;
};

// nullopt when diagnostics has errors.
std::optional<Plan> lower(const Schedule&, const LowerOptions&, Diagnostics&, LowerReport* = nullptr);

// Names of the passes, in order, with one sentence each (`collc opt --list`).
struct PassInfo {
  std::string name, what;
};
std::vector<PassInfo> pass_list();

}  // namespace coll
