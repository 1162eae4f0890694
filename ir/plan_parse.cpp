// Reads the text form of Plan IR. The grammar is in ir/README.md.
//
// The reader checks structure completely: every id, place, part and step that it lets through exists, so later code
// indexes without asking. Whether the plan is right (balanced, free of races and deadlock, what the contract wants) is
// the verifier's to say, and a wrong plan must be readable for that: a write to `in`, a part that does not fit its
// place, a message nobody takes are no errors here.
//
// Two passes would make forward references easy but cost a second scan of 100 MB; instead all that an instruction may
// name lies in the head, except steps of its own rank, which are looked at when the rank ends, and the places in the
// witness, which are compared at the very end.
#include <algorithm>

#include "ir/opcode_shape.h"
#include "ir/plan_head.h"
#include "ir/plan_text.h"
#include "ir/support/check.h"
#include "ir/text_reader.h"

namespace coll {

namespace {

class PlanReader {
 public:
  PlanReader(const SourceFile& file, Diagnostics& diagnostics) : reader_(file, diagnostics), head_(reader_, plan_) {}

  std::optional<Plan> read() {
    if (!head_.read()) return std::nullopt;
    grid_use_.assign(plan_.grids.size(), kUnused);
    if (head_.ends_at_rank()) read_body();
    if (reader_.stopped()) return std::nullopt;
    check_witness();
    if (!reader_.failed()) {
      check_grids(reader_, plan_.grids, grid_use_);
      head_.check_needs();
    }
    if (reader_.failed()) return std::nullopt;
    plan_.finish();
    return std::move(plan_);
  }

 private:
  // Body.
  void read_body() {
    uint32_t lines = reader_.lines_left();
    plan_.instructions.reserve(lines);
    instruction_at_.reserve(lines);
    plan_.operands.reserve(2 * static_cast<size_t>(lines));
    begin_rank();
    while (reader_.next_line() && !reader_.stopped()) {
      if (reader_.next_is_digit()) {
        read_instruction();
        continue;
      }
      std::string_view word = reader_.peek_word();
      if (word == "lane") {
        reader_.word();
        begin_lane();
      } else if (word == "rank") {
        end_rank();
        reader_.word();
        begin_rank();
      } else {
        reader_.error(diag::kPlanUnknownLine,
                      "saw " + reader_.seen() + ", where a line begins with a step, `lane` or `rank`",
                      word.empty() ? "" : "lines of the head come before the first `rank`");
      }
    }
    end_rank();
    plan_.operands.shrink_to_fit();
  }

  void begin_rank() {
    rank_ = kAllRanks;
    uint32_t at = reader_.position(), rank = 0;
    first_lane_ = static_cast<uint32_t>(plan_.lanes.size());
    if (!reader_.number(rank, "a rank")) return;
    if (rank >= plan_.ranks()) {
      reader_.error_at(at, diag::kPlanRank,
                       "rank " + std::to_string(rank) + " is outside the world: this collective has " +
                           range_words(plan_.ranks(), "rank", "ranks"));
      return;
    }
    if (rank < next_rank_) {
      reader_.error_at(at, diag::kPlanBlockOrder,
                       "rank " + std::to_string(rank) + " after a rank that is not before it",
                       "ranks ascend, each at most once");
      return;
    }
    if (plan_.only_rank != kAllRanks && rank != plan_.only_rank) {
      reader_.error_at(
          at, diag::kPlanOnlyRank,
          "rank " + std::to_string(rank) + " in a plan that says `only r" + std::to_string(plan_.only_rank) + "`");
      return;
    }
    if (!reader_.finish_line()) return;
    rank_ = rank;
    next_rank_ = rank + 1;
  }

  void begin_lane() {
    uint32_t at = reader_.position(), lane = 0;
    uint32_t due = static_cast<uint32_t>(plan_.lanes.size()) - first_lane_;
    // A faulty line still begins a lane, so that what follows is not faulty too.
    plan_.lanes.push_back({rank_, static_cast<uint32_t>(plan_.instructions.size()), 0});
    if (!reader_.number(lane, "a lane")) return;
    if (lane != due) {
      reader_.error_at(at, diag::kPlanSequence,
                       "lane `" + std::to_string(lane) + "` where `" + std::to_string(due) +
                           "` is due: lanes of a rank count from 0 without gaps");
      return;
    }
    reader_.finish_line();
  }

  void read_instruction() {
    if (plan_.lanes.size() == first_lane_) {
      reader_.error(diag::kPlanBlockOrder, "an instruction before any `lane` of its rank",
                    "instructions lie inside a lane");
      return;
    }
    Lane& lane = plan_.lanes.back();
    uint32_t at = reader_.position(), step = 0;
    instruction_at_.push_back(at);
    Instruction& i = plan_.instructions.emplace_back();
    i.first_operand = static_cast<uint32_t>(plan_.operands.size());
    i.first_after = static_cast<uint32_t>(plan_.after.size());
    i.line = LineId::kNone;
    if (reader_.number(step, "a step")) {
      if (step != lane.count)
        reader_.error_at(at, diag::kPlanSequence,
                         "step `" + std::to_string(step) + "` where `" + std::to_string(lane.count) +
                             "` is due: steps of a lane count from 0 without gaps");
      if (read_operation(i) && read_attributes(i)) check(i);
    }
    ++lane.count;
  }

  bool read_operation(Instruction& i) {
    opcode_at_ = reader_.position();
    std::string_view word = reader_.word();
    if (!find_opcode(word, i.op)) {
      std::vector<std::string> known;
      for (uint8_t op = 0; op <= static_cast<uint8_t>(Opcode::kSwitchReduce); ++op)
        known.emplace_back(info(static_cast<Opcode>(op)).mnemonic);
      std::string near = nearest(word.substr(0, 64), known), list;
      for (const std::string& k : known) list += " " + k;
      return reader_.error_at(opcode_at_, diag::kPlanOpcode,
                              word.empty() ? "saw " + reader_.seen() + ", expected an instruction"
                                           : "unknown instruction `" + std::string(word.substr(0, 40)) + "`",
                              near.empty() ? "known are" + list : "did you mean `" + near + "`?");
    }
    if (i.op == Opcode::kSignal || i.op == Opcode::kWait) {
      operand_at_.clear();
      counter_at_ = reader_.position();
      if (!reader_.id('n', i.counter, "a counter")) return false;
      if (i.op == Opcode::kSignal) return true;
      if (!reader_.expect(">=")) return false;
      value_at_ = reader_.position();
      return reader_.number(i.value, "a number of signals");
    }
    operand_at_.clear();
    if (!read_operands(i.source_count) || !reader_.expect("->") || !read_operands(i.destination_count)) return false;
    return true;
  }

  static bool find_opcode(std::string_view word, Opcode& op) {
    for (uint8_t o = 0; o <= static_cast<uint8_t>(Opcode::kSwitchReduce); ++o) {
      if (word != info(static_cast<Opcode>(o)).mnemonic) continue;
      op = static_cast<Opcode>(o);
      return true;
    }
    return false;
  }

  bool read_operands(uint8_t& count) {
    do {
      if (count == 255) return reader_.error(diag::kPlanLimit, "more than 255 operands on one side");
      uint32_t at = reader_.position();
      Operand o;
      if (!read_operand(o)) return false;
      plan_.operands.push_back(o);
      operand_at_.push_back(at);
      ++count;
    } while (reader_.accept(","));
    return true;
  }

  bool read_operand(Operand& o) {
    uint32_t at = reader_.position();
    std::string_view word = reader_.peek_word();
    if (word.size() > 1 && word[0] == 'c' && word[1] >= '0' && word[1] <= '9') {
      o.space = Space::kConnection;
      return reader_.id('c', o.rank, "a connection");
    }
    if (word == "out") {
      o.buffer = buffers::kOut;
    } else if (word == "in") {
      o.buffer = buffers::kIn;
    } else if (word == "scratch") {
      o.buffer = buffers::kScratch;
    } else if (word.empty()) {
      return reader_.error(diag::kPlanSyntax, "saw " + reader_.seen() + ", expected an operand",
                           "as in `out[5]`, `scratch[0]@r3`, `out[5]@g0` or `c12`");
    } else {
      std::string near = nearest(word.substr(0, 64), {"in", "out", "scratch"});
      return reader_.error_at(at, diag::kPlanBuffer, "unknown buffer `" + std::string(word.substr(0, 40)) + "`",
                              near.empty() ? "a plan has `in`, `out` and `scratch`" : "did you mean `" + near + "`?");
    }
    reader_.word();
    if (!reader_.expect("[") || !reader_.number(o.place, "a place") || !reader_.expect("]")) return false;
    if (!reader_.accept("@")) return true;
    if (reader_.next_char() == 'g') {
      o.space = Space::kGroup;
      return reader_.id('g', o.rank, "a group");
    }
    o.space = Space::kPeer;
    return reader_.id('r', o.rank, "a rank or a group");
  }

  bool read_attributes(Instruction& i) {
    grid_at_ = length_at_ = opcode_at_;
    if (i.op != Opcode::kSignal && i.op != Opcode::kWait) {
      if (!reader_.accept_word("part"))
        return reader_.error(diag::kPlanMissing, "saw " + reader_.seen() + ", expected `part`",
                             "which part of the grid is moved, as in `part 3`, or `part longest` between scratch");
      part_at_ = reader_.position();
      if (reader_.accept_word("longest")) {
        i.first_part = kLongestPart;
      } else if (!reader_.number(i.first_part, "a part", kLongestPart - 1)) {
        return false;
      }
      if (reader_.accept_word("length")) {
        length_at_ = reader_.position();
        if (!reader_.number(i.length, "a number of places")) return false;
        if (i.length == 0 || i.length > head_.longest())
          return reader_.error_at(
              length_at_, diag::kPlanLength, "a length of " + std::to_string(i.length) + " places",
              "at least 1 place, and no more than the longest buffer has (" + std::to_string(head_.longest()) + ")");
      }
      if (reader_.accept_word("grid")) {
        uint32_t grid = 0;
        grid_at_ = reader_.position();
        if (!reader_.number(grid, "a grid")) return false;
        if (grid >= plan_.grids.size()) return bad_grid(grid);
        i.grid = static_cast<uint16_t>(grid);
      }
    }
    if (reader_.accept_word("after") && !read_after(i)) return false;
    if (reader_.accept_word("line")) {
      uint32_t at = reader_.position();
      if (!reader_.number(i.line, "a source line")) return false;
      if (i.line >= plan_.lines.lines.size())
        return reader_.error_at(at, diag::kPlanLine,
                                "line " + std::to_string(i.line) + " is not in the table, which has " +
                                    range_words(plan_.lines.lines.size(), "line", "lines"));
    }
    if (!reader_.accept("@")) {
      if (reader_.at_end())
        return reader_.error(diag::kPlanMissing, "an instruction without its place in the witness",
                             "as in `@1234`: a global order in which the plan runs");
      return reader_.finish_line();
    }
    return reader_.number(i.order, "a place in the witness") && reader_.finish_line();
  }

  bool bad_grid(uint32_t grid) {
    return reader_.error_at(grid_at_, diag::kPlanGrid,
                            "grid " + std::to_string(grid) + " is not in the plan, which has " +
                                range_words(plan_.grids.size(), "grid", "grids"));
  }

  bool read_after(Instruction& i) {
    uint32_t own_lane = static_cast<uint32_t>(plan_.lanes.size()) - 1 - first_lane_;
    do {
      After a;
      uint32_t at = reader_.position();
      if (!reader_.number(a.lane, "a lane") || !reader_.expect(".") || !reader_.number(a.step, "a step")) return false;
      if (a.lane == own_lane && a.step == plan_.lanes.back().count)
        return reader_.error_at(at, diag::kPlanAfter, "an instruction after itself",
                                "`after lane.step` names another instruction of the same rank");
      if (i.after_count == 0xffff) return reader_.error_at(at, diag::kPlanLimit, "more than 65535 dependences");
      plan_.after.push_back(a);
      ++i.after_count;
    } while (reader_.next_is_digit());
    if (i.after_count == 1) return true;
    scratch_after_.assign(plan_.after.begin() + i.first_after, plan_.after.end());
    std::sort(scratch_after_.begin(), scratch_after_.end());
    auto twice = std::adjacent_find(scratch_after_.begin(), scratch_after_.end());
    if (twice == scratch_after_.end()) return true;
    return reader_.error_at(
        opcode_at_, diag::kPlanAfter,
        "the dependence " + std::to_string(twice->lane) + "." + std::to_string(twice->step) + " is given twice");
  }

  void check(Instruction& i) {
    if (rank_ == kAllRanks) return;  // of a rank that was refused
    if (ShapeError error = check_shape(plan_, rank_, i)) {
      report(i, error);
      return;
    }
    if (i.op == Opcode::kSignal || i.op == Opcode::kWait || grid_use_[i.grid] != kUnused) return;
    for (uint32_t o = i.first_operand; o < plan_.operands.size(); ++o)
      if (plan_.operands[o].space != Space::kConnection && plan_.operands[o].buffer != buffers::kScratch)
        grid_use_[i.grid] = instruction_at_.back();
  }

  void report(const Instruction& i, const ShapeError& error) {
    uint32_t at = error.operand < 0 ? opcode_at_ : operand_at_[error.operand];
    const Operand* o = error.operand < 0 ? nullptr : &plan_.operands[i.first_operand + error.operand];
    std::string mnemonic = info(i.op).mnemonic, here = "rank " + std::to_string(rank_);
    switch (error.fault) {
      case ShapeFault::kNone:
        return;
      case ShapeFault::kSources:
      case ShapeFault::kDestinations:
        reader_.error_at(at, diag::kPlanShape, "`" + mnemonic + "` with " + reason(error.fault),
                         "its form is " + std::string(shape(i.op)));
        return;
      case ShapeFault::kGrid:
        bad_grid(i.grid);
        return;
      case ShapeFault::kPart:
        reader_.error_at(part_at_, diag::kPlanPart,
                         "part " + std::to_string(i.first_part) + " of grid " + std::to_string(i.grid) +
                             ", which has " + range_words(plan_.grids[i.grid].parts, "part", "parts"));
        return;
      case ShapeFault::kLength:
      case ShapeFault::kBuffer:
        COLL_CHECK(false, "the reader refuses these before it asks for the shape");
      case ShapeFault::kPlace:
        report_place(i, *o, at);
        return;
      case ShapeFault::kRank:
        reader_.error_at(at, diag::kPlanRank,
                         "rank " + std::to_string(o->rank) + " is outside the world: this collective has " +
                             range_words(plan_.ranks(), "rank", "ranks"));
        return;
      case ShapeFault::kPeerIsSelf:
        reader_.error_at(at, diag::kPlanPeer, here + " as its own peer", "its own memory is written without `@`");
        return;
      case ShapeFault::kConnection:
        reader_.error_at(at, diag::kPlanConnection,
                         "connection c" + std::to_string(o->rank) + " is not in the table, which has " +
                             range_words(plan_.connections.size(), "connection", "connections"));
        return;
      case ShapeFault::kConnectionEnd: {
        const Connection& c = plan_.connections[o->rank];
        bool source = error.operand < i.source_count;
        reader_.error_at(at, diag::kPlanConnectionEnd,
                         here + (source ? " receives from" : " sends to") + " connection c" + std::to_string(o->rank) +
                             ", which goes from rank " + std::to_string(c.source) + " to rank " +
                             std::to_string(c.destination),
                         "a rank sends to connections that begin at it and receives from those that end at it");
        return;
      }
      case ShapeFault::kGroup:
        reader_.error_at(at, diag::kPlanGroup,
                         "group g" + std::to_string(o->rank) + " is not in the table, which has " +
                             range_words(plan_.groups.size(), "group", "groups"));
        return;
      case ShapeFault::kGroupMember:
        reader_.error_at(at, diag::kPlanGroup, here + " is not in group g" + std::to_string(o->rank),
                         "a rank addresses only groups that it belongs to");
        return;
      case ShapeFault::kCounter:
        reader_.error_at(counter_at_, diag::kPlanCounter,
                         "counter n" + std::to_string(i.counter) + " is not in the table, which has " +
                             range_words(plan_.counters.size(), "counter", "counters"));
        return;
      case ShapeFault::kCounterEnd: {
        const Counter& n = plan_.counters[i.counter];
        bool signal = i.op == Opcode::kSignal;
        reader_.error_at(counter_at_, diag::kPlanCounterEnd,
                         here + (signal ? " signals" : " waits for") + " counter n" + std::to_string(i.counter) +
                             ", which rank " + std::to_string(signal ? n.signaller : n.owner) +
                             (signal ? " signals" : " owns"),
                         "a counter has one signaller and one owner; only the owner waits for it");
        return;
      }
      case ShapeFault::kWaitValue:
        reader_.error_at(value_at_, diag::kPlanWaitValue, "a wait for 0 signals, which waits for nothing",
                         "values count from 1 in each tile of each call");
        return;
    }
  }

  void report_place(const Instruction& i, const Operand& o, uint32_t at) {
    static constexpr const char* kNames[] = {"in", "out", "scratch"};
    uint32_t whose = rank_;
    if (o.space == Space::kPeer) whose = o.rank;
    if (o.space == Space::kGroup)
      for (uint32_t r : plan_.groups[o.rank].ranks)
        if (uint64_t{o.place} + i.length > plan_.places(r, o.buffer, i.grid)) whose = r;
    uint32_t places = plan_.places(whose, o.buffer, i.grid);
    std::string seen =
        i.length == 1 ? "place " + std::to_string(o.place)
                      : "places " + std::to_string(o.place) + " to " + std::to_string(uint64_t{o.place} + i.length - 1);
    reader_.error_at(at, diag::kPlanPlace,
                     seen + " of `" + kNames[o.buffer] + "` of rank " + std::to_string(whose) + ", which has " +
                         range_words(places, "place", "places"),
                     o.buffer == buffers::kScratch ? "scratch places are given by the `scratch` lines of the head"
                                                   : "a user buffer has blocks x parts of the grid places");
  }

  // Dependences may name later lanes, so they are looked at when the rank is complete.
  void end_rank() {
    uint32_t lanes = static_cast<uint32_t>(plan_.lanes.size()) - first_lane_;
    for (uint32_t l = first_lane_; l < plan_.lanes.size(); ++l) {
      const Lane& lane = plan_.lanes[l];
      for (uint32_t s = 0; s < lane.count; ++s) {
        for (const After& a : plan_.afters(plan_.instructions[lane.first + s])) {
          if (a.lane < lanes && a.step < plan_.lanes[first_lane_ + a.lane].count) continue;
          if (reader_.stopped()) return;
          std::string name = std::to_string(a.lane) + "." + std::to_string(a.step);
          reader_.error_at(
              instruction_at_[lane.first + s], diag::kPlanAfter,
              "after " + name + ", which is not there: " +
                  (a.lane < lanes ? "lane " + std::to_string(a.lane) + " has " +
                                        range_words(plan_.lanes[first_lane_ + a.lane].count, "step", "steps")
                                  : "this rank has " + range_words(lanes, "lane", "lanes")),
              "`after lane.step` names an instruction of the same rank");
        }
      }
    }
  }

  // Each place in the witness at most once. Orders are nearly always 0 .. n-1: a bitmap then, else sorting.
  void check_witness() {
    if (reader_.failed()) return;
    const auto& list = plan_.instructions;
    uint32_t most = 0;
    for (const Instruction& i : list) most = std::max(most, i.order);
    std::vector<uint32_t> repeated;  // indices of instructions whose place is taken
    if (most / 64 <= list.size()) {
      std::vector<bool> taken(static_cast<size_t>(most) + 1);
      for (uint32_t i = 0; i < list.size(); ++i) {
        if (taken[list[i].order]) repeated.push_back(i);
        taken[list[i].order] = true;
      }
    } else {
      std::vector<uint64_t> keys;
      for (uint32_t i = 0; i < list.size(); ++i) keys.push_back(uint64_t{list[i].order} << 32 | i);
      std::sort(keys.begin(), keys.end());
      for (size_t k = 1; k < keys.size(); ++k)
        if (keys[k] >> 32 == keys[k - 1] >> 32) repeated.push_back(static_cast<uint32_t>(keys[k]));
      std::sort(repeated.begin(), repeated.end());
    }
    for (uint32_t i : repeated) {
      if (reader_.stopped()) return;
      reader_.error_at(instruction_at_[i], diag::kPlanOrder,
                       "a second instruction at @" + std::to_string(list[i].order),
                       "places in the witness are unique: it is one order of all instructions");
    }
  }

  TextReader reader_;
  Plan plan_;
  PlanHeadReader head_;
  std::vector<uint32_t> grid_use_;  // where a grid was first used on a user buffer

  uint32_t rank_ = kAllRanks, next_rank_ = 0;
  uint32_t first_lane_ = 0;  // of this rank
  std::vector<uint32_t> instruction_at_;

  // Places of the current line, for carets.
  uint32_t opcode_at_ = 0, counter_at_ = 0, value_at_ = 0, part_at_ = 0, length_at_ = 0, grid_at_ = 0;
  std::vector<uint32_t> operand_at_;
  std::vector<After> scratch_after_;
};

}  // namespace

std::optional<Plan> parse_plan(const SourceFile& file, Diagnostics& diagnostics) {
  return PlanReader(file, diagnostics).read();
}

}  // namespace coll
