#include "ir/plan_head.h"

#include <algorithm>

namespace coll {

PlanHeadReader::PlanHeadReader(TextReader& reader, Plan& plan)
    : reader_(reader),
      plan_(plan),
      head_(reader_, {{"name", false},
                      {"needs", true},
                      {"contract", false},
                      {"ensure", true},
                      {"grid", true},
                      {"instances", false},
                      {"inplace", false},
                      {"slots", false},
                      {"only", false},
                      {"family", false},
                      {"scratch", true},
                      {"file", true},
                      {"line", true},
                      {"connection", true},
                      {"counter", true},
                      {"group", true},
                      {"rank", true}}) {}

bool PlanHeadReader::read() {
  if (!reader_.first_line("plan", Plan::kVersion)) return false;
  first_line_at_ = reader_.line_position();
  plan_.grids.clear();
  while (!in_body_ && reader_.next_line() && !reader_.stopped()) {
    std::string_view first = reader_.peek_word();
    if (first == "lane" || reader_.next_is_digit()) {
      reader_.error(diag::kPlanBlockOrder, "saw " + reader_.seen() + " before any `rank`",
                    "lanes lie inside a rank, instructions inside a lane");
      return false;
    }
    std::string_view word = head_.next();
    if (word == "contract") {
      // Nothing else makes sense without knowing the world.
      if (!head_.contract(plan_.contract)) return false;
      plan_.scratch_places.assign(plan_.ranks(), 0);
    } else if (word == "rank") {
      in_body_ = true;
    } else {
      read_line(word);
    }
  }
  if (reader_.stopped() || !head_.complete()) return false;
  if (!head_.seen("slots"))
    reader_.error_at(reader_.line_position(), diag::kPlanMissing, "the head ends here and has no `slots` line",
                     "the least number of message slots that the plan needs, as in `slots 1`");
  check_connections();
  if (!reader_.failed()) check_sizes();
  return !reader_.failed();
}

bool PlanHeadReader::read_line(std::string_view word) {
  if (word == "name") return reader_.string(plan_.name) && reader_.finish_line();
  if (word == "needs") return read_needs();
  if (word == "ensure") return head_.ensure(plan_.contract);
  if (word == "grid") return head_.grid(plan_.grids);
  if (word == "instances") return head_.instances(plan_.instances);
  if (word == "inplace") return plan_.inplace = reader_.finish_line();
  if (word == "slots") return read_slots();
  if (word == "only") return head_.only(plan_.only_rank, plan_.contract);
  if (word == "family") return head_.family(plan_.family_hash);
  if (word == "scratch") return read_scratch();
  if (word == "file") return head_.file(plan_.lines);
  if (word == "line") return head_.line(plan_.lines);
  if (word == "connection") return read_connection();
  if (word == "counter") return read_counter();
  if (word == "group") return read_group();
  return false;
}

bool PlanHeadReader::read_needs() {
  needs_at_ = reader_.position();
  std::string_view feature = reader_.word();
  bool& flag = feature == "direct" ? needs_direct_ : needs_multicast_;
  if (feature != "direct" && feature != "multicast")
    return reader_.error_at(
        needs_at_, diag::kPlanFeature,
        "this plan needs `" + std::string(feature.substr(0, 40)) + "`, a feature that this reader does not know",
        "known are `direct` and `multicast`; a newer collc may know more");
  if (flag) return reader_.error_at(needs_at_, diag::kPlanNeeds, "`needs " + std::string(feature) + "` is given twice");
  flag = true;
  return reader_.finish_line();
}

bool PlanHeadReader::read_slots() {
  uint32_t at = reader_.position();
  if (!reader_.number(plan_.slots_needed, "a number of slots")) return false;
  if (plan_.slots_needed == 0 || plan_.slots_needed > TextLimits::kSlots)
    return reader_.error_at(
        at, diag::kPlanLimit,
        std::to_string(plan_.slots_needed) + " slots; a connection has 1 to " + std::to_string(TextLimits::kSlots));
  return reader_.finish_line();
}

// r3 or r3..r7
bool PlanHeadReader::read_ranks(uint32_t& first, uint32_t& last) {
  uint32_t at = reader_.position();
  if (!reader_.rank(first, plan_.ranks())) return false;
  last = first;
  if (!reader_.accept("..")) return true;
  if (!reader_.rank(last, plan_.ranks())) return false;
  if (last > first) return true;
  return reader_.error_at(at, diag::kPlanSyntax, "a range of ranks that does not ascend", "as in `r0..r7`");
}

bool PlanHeadReader::read_scratch() {
  uint32_t at = reader_.position(), first = 0, last = 0, places = 0;
  if (!read_ranks(first, last) || !reader_.number(places, "a number of places") || !reader_.finish_line()) return false;
  if (first < scratch_from_)
    return reader_.error_at(at, diag::kPlanSequence,
                            "scratch of rank " + std::to_string(first) + " is given after that of a later rank",
                            "ranks ascend, each at most once");
  scratch_from_ = last + 1;
  for (uint32_t r = first; r <= last; ++r) plan_.scratch_places[r] = places;
  return true;
}

// `r0 -> r1`
bool PlanHeadReader::read_pair(uint32_t& from, uint32_t& to) {
  return reader_.rank(from, plan_.ranks()) && reader_.expect("->") && reader_.rank(to, plan_.ranks());
}

bool PlanHeadReader::read_connection() {
  Connection& c = plan_.connections.emplace_back();
  connection_at_.push_back(reader_.line_position());
  if (!head_.row(plan_.connections.size() - 1, "connection", 'c')) return false;
  uint32_t at = reader_.position();
  if (!read_pair(c.source, c.destination)) return false;
  if (c.source == c.destination)
    return reader_.error_at(at, diag::kPlanConnectionRow,
                            "a connection of rank " + std::to_string(c.source) + " with itself",
                            "data of one rank moves by `copy`");
  if (!reader_.expect_word("channel") || !reader_.number(c.channel, "a channel")) return false;
  if (reader_.accept_word("protocol")) {
    at = reader_.position();
    std::string_view protocol = reader_.word();
    if (protocol != "simple" && protocol != "ll" && protocol != "ll128")
      return reader_.error_at(at, diag::kPlanProtocol, "unknown protocol `" + std::string(protocol.substr(0, 40)) + "`",
                              "known are `simple`, `ll` and `ll128`");
    c.protocol = protocol;
  }
  return reader_.finish_line();
}

bool PlanHeadReader::read_counter() {
  Counter& n = plan_.counters.emplace_back();
  return head_.row(plan_.counters.size() - 1, "counter", 'n') && read_pair(n.signaller, n.owner) &&
         reader_.string(n.name) && reader_.finish_line();
}

bool PlanHeadReader::read_group() {
  Group& g = plan_.groups.emplace_back();
  if (!head_.row(plan_.groups.size() - 1, "group", 'g')) return false;
  uint32_t at = reader_.position();
  do {
    uint32_t first = 0, last = 0;
    if (!read_ranks(first, last)) return false;
    group_members_ += last - first + 1;
    if (group_members_ > TextLimits::kGroupMembers)
      return reader_.error_at(at, diag::kPlanLimit,
                              "groups of more than " + std::to_string(TextLimits::kGroupMembers) + " members together");
    for (uint32_t r = first; r <= last; ++r) g.ranks.push_back(r);
  } while (!reader_.at_end());
  std::vector<uint32_t> sorted = g.ranks;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  return reader_.error_at(at, diag::kPlanGroupRow, "a group that names rank " + std::to_string(*twice) + " twice",
                          "a group is a set of ranks");
}

void PlanHeadReader::check_connections() {
  std::vector<uint32_t> ids(plan_.connections.size());
  for (uint32_t c = 0; c < ids.size(); ++c) ids[c] = c;
  auto key = [&](uint32_t c) {
    const Connection& connection = plan_.connections[c];
    return std::tuple(connection.source, connection.destination, connection.channel);
  };
  std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  if (reader_.failed()) return;  // faulty rows are placeholders and would look alike
  for (size_t i = 1; i < ids.size() && !reader_.stopped(); ++i)
    if (key(ids[i - 1]) == key(ids[i]))
      reader_.error_at(connection_at_[ids[i]], diag::kPlanConnectionRow,
                       "connections c" + std::to_string(ids[i - 1]) + " and c" + std::to_string(ids[i]) +
                           " join the same ranks on the same channel",
                       "a channel tells connections of a pair of ranks apart");
  connection_at_ = {};
}

void PlanHeadReader::check_sizes() {
  uint64_t parts = 0, total = 0;
  for (const Grid& g : plan_.grids) parts = std::max<uint64_t>(parts, g.parts);
  for (uint32_t r = 0; r < plan_.ranks(); ++r) {
    uint64_t in = plan_.contract.in_blocks(r), out = plan_.contract.out_blocks(r);
    // Each factor is below 2^32, so a rank's product can be compared before the sum can wrap.
    if (in * parts > TextLimits::kPlaces || out * parts > TextLimits::kPlaces) total = TextLimits::kPlaces + 1;
    if (total > TextLimits::kPlaces) break;
    longest_ = std::max({longest_, in * parts, out * parts, uint64_t{plan_.scratch_places[r]}});
    total += (in + out) * parts + plan_.scratch_places[r];
  }
  if (total > TextLimits::kPlaces)
    reader_.error_at(
        reader_.line_position(), diag::kPlanLimit,
        "in, out and scratch of all ranks have more than " + std::to_string(TextLimits::kPlaces) + " places together",
        "fewer parts, or fewer ranks");
}

void PlanHeadReader::check_needs() {
  bool direct = plan_.has_direct(), multicast = plan_.has_groups();
  auto complain = [&](const char* feature, bool given) {
    reader_.error_at(given ? needs_at_ : first_line_at_, diag::kPlanNeeds,
                     given ? std::string("`needs ") + feature + "`, but nothing in the plan does"
                           : std::string("a plan without `needs ") + feature + "` that does need it",
                     "put, get and groups need `direct`, groups need `multicast`");
  };
  if (direct != needs_direct_) complain("direct", needs_direct_);
  if (multicast != needs_multicast_) complain("multicast", needs_multicast_);
}

}  // namespace coll
