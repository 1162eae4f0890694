// Reads the text form of Schedule IR. The grammar is in ir/README.md. Like the plan's reader it checks structure only:
// every rank, buffer, place, grid, hint and line that it lets through exists.
#include <algorithm>

#include "ir/plan_text.h"
#include "ir/text_reader.h"

namespace coll {

namespace {

class ScheduleReader {
 public:
  ScheduleReader(const SourceFile& file, Diagnostics& diagnostics)
      : reader_(file, diagnostics),
        head_(reader_, {{"name", false},
                        {"contract", false},
                        {"ensure", true},
                        {"grid", true},
                        {"instances", false},
                        {"tmp", true},
                        {"hint", true},
                        {"only", false},
                        {"family", false},
                        {"file", true},
                        {"line", true},
                        {"ops", false}}) {}

  std::optional<Schedule> read() {
    if (!reader_.first_line("schedule", 1)) return std::nullopt;
    s_.grids.clear();
    if (!read_head()) return std::nullopt;
    if (in_body_) {
      uint32_t lines = reader_.lines_left();
      s_.ops.reserve(lines);
      s_.sources.reserve(lines);
      while (reader_.next_line() && !reader_.stopped()) read_op();
    }
    if (!reader_.failed()) check_grids(reader_, s_.grids, grid_use_);
    if (reader_.failed()) return std::nullopt;
    return std::move(s_);
  }

 private:
  bool read_head() {
    while (!in_body_ && reader_.next_line() && !reader_.stopped()) {
      if (reader_.peek_word() == "needs") {
        reader_.word();
        reader_.error(diag::kPlanFeature,
                      "this schedule needs " + reader_.seen() + ", a feature that this reader does not know",
                      "version 1 of the schedule's text has no features; a newer collc may know some");
        continue;
      }
      std::string_view word = head_.next();
      if (word == "contract") {
        if (!head_.contract(s_.contract)) return false;
        measure_contract();
      } else if (word == "ops") {
        in_body_ = reader_.finish_line();
      } else {
        read_head_line(word);
      }
    }
    if (reader_.stopped() || !head_.complete()) return false;
    grid_use_.assign(s_.grids.size(), kUnused);
    if (!reader_.failed()) check_sizes();
    return !reader_.failed();
  }

  bool read_head_line(std::string_view word) {
    if (word == "name") return reader_.string(s_.name) && reader_.finish_line();
    if (word == "ensure") return head_.ensure(s_.contract);
    if (word == "grid") return head_.grid(s_.grids);
    if (word == "instances") return head_.instances(s_.instances);
    if (word == "tmp") return read_tmp();
    if (word == "hint") return read_hint();
    if (word == "only") return head_.only(s_.only_rank, s_.contract);
    if (word == "family") return head_.family(s_.family_hash);
    if (word == "file") return head_.file(s_.lines);
    if (word == "line") return head_.line(s_.lines);
    return false;
  }

  bool read_tmp() {
    if (s_.tmps.size() >= 0xffffu - buffers::kFirstTmp)
      return reader_.error(diag::kPlanLimit, "more tmps than buffers can be numbered");
    Tmp& t = s_.tmps.emplace_back();
    return head_.row(s_.tmps.size() - 1, "tmp", 't') && reader_.string(t.name) && reader_.expect_word("places") &&
           reader_.number(t.places, "a number of places") && reader_.finish_line();
  }

  bool one_of(std::string& value, std::initializer_list<std::string_view> known, DiagnosticId id, const char* what) {
    uint32_t at = reader_.position();
    std::string_view word = reader_.word();
    std::string list;
    for (std::string_view k : known) {
      if (k == word) {
        value = word;
        return true;
      }
      list += (list.empty() ? "`" : ", `") + std::string(k) + "`";
    }
    return reader_.error_at(at, id, std::string("unknown ") + what + " `" + std::string(word.substr(0, 40)) + "`",
                            "known are " + list);
  }

  bool read_hint() {
    if (s_.hints.size() > 0xffff) return reader_.error(diag::kPlanLimit, "more than 65535 hints");
    Hint& h = s_.hints.emplace_back();
    if (!head_.row(s_.hints.size() - 1, "hint")) return false;
    uint32_t number = 0;
    constexpr uint32_t kMost = 0x7fffffff;
    if (reader_.accept_word("channel")) {
      if (!reader_.number(number, "a channel", kMost)) return false;
      h.channel = static_cast<int32_t>(number);
    }
    if (reader_.accept_word("lane")) {
      if (!reader_.number(number, "a lane", kMost)) return false;
      h.lane = static_cast<int32_t>(number);
    }
    if (reader_.accept_word("protocol") &&
        !one_of(h.protocol, {"ll", "ll128", "simple"}, diag::kPlanProtocol, "protocol"))
      return false;
    if (reader_.accept_word("via") && !reader_.string(h.via)) return false;
    if (reader_.accept_word("wire") && !one_of(h.wire, {"bf16", "f16", "f8e4m3"}, diag::kScheduleHint, "wire type"))
      return false;
    return reader_.finish_line();
  }

  // What every rank has, for `@all`: the least number of blocks over all ranks.
  void measure_contract() {
    for (uint32_t r = 0; r < s_.ranks(); ++r) {
      least_in_ = std::min(least_in_, s_.contract.in_blocks(r));
      least_out_ = std::min(least_out_, s_.contract.out_blocks(r));
    }
  }

  void check_sizes() {
    uint64_t parts = 0, total = 0;
    for (const Grid& g : s_.grids) parts = std::max<uint64_t>(parts, g.parts);
    // buf has as many blocks as the larger of in and out; each rank counts its buf twice, as in and out.
    uint64_t buf = s_.contract.buf_blocks() * parts;
    for (const Tmp& t : s_.tmps) total += t.places;
    longest_ = buf;
    for (const Tmp& t : s_.tmps) longest_ = std::max<uint64_t>(longest_, t.places);
    if (buf > TextLimits::kPlaces || total > TextLimits::kPlaces ||
        (2 * buf + total) * s_.ranks() > 2 * TextLimits::kPlaces)
      reader_.error_at(
          reader_.line_position(), diag::kPlanLimit,
          "buffers and tmps of all ranks have more than " + std::to_string(TextLimits::kPlaces) + " places together",
          "fewer parts, or fewer ranks");
  }

  // Body: ` out[5]@r1 += buf[5]@r0, t0[3]@r1  length 2  grid 1  hint 1  line 3`
  bool read_op() {
    ScheduleOp op;
    op.first_source = static_cast<uint32_t>(s_.sources.size());
    op.source_count = 0;
    op.line = LineId::kNone;
    op_at_ = reader_.position();
    places_at_.clear();
    if (!read_place(op.dst)) return false;
    if (reader_.accept("+=")) {
      op.kind = ScheduleOp::Kind::kAccumulate;
    } else if (reader_.expect("=")) {
      op.kind = reader_.accept_word("reduce") ? ScheduleOp::Kind::kReduce : ScheduleOp::Kind::kCopy;
    } else {
      return false;
    }
    do {
      if (!read_place(s_.sources.emplace_back())) return false;
      ++op.source_count;
    } while (reader_.accept(","));
    if (!read_attributes(op) || !check(op)) return false;
    s_.ops.push_back(op);
    return true;
  }

  bool read_place(Place& p) {
    uint32_t at = reader_.position();
    places_at_.push_back(at);
    std::string_view word = reader_.peek_word();
    if (word == "buf") {
      p.buffer = buffers::kBuf;
    } else if (word == "out") {
      p.buffer = buffers::kOut;
    } else if (word == "in") {
      p.buffer = buffers::kIn;
    } else if (word.size() > 1 && word[0] == 't' && word[1] >= '0' && word[1] <= '9') {
      uint32_t tmp = 0;
      if (!reader_.id('t', tmp, "a tmp")) return false;
      if (tmp >= s_.tmps.size())
        return reader_.error_at(at, diag::kScheduleTmp,
                                "tmp t" + std::to_string(tmp) + " is not in the table, which has " +
                                    range_words(s_.tmps.size(), "tmp", "tmps"));
      p.buffer = static_cast<uint16_t>(buffers::kFirstTmp + tmp);
    } else if (word.empty()) {
      return reader_.error(diag::kPlanSyntax, "saw " + reader_.seen() + ", expected a place",
                           "as in `buf[5]@r3`, `in[0]@r1`, `t0[2]@r3` or `buf[5]@all`");
    } else {
      std::string near = nearest(word.substr(0, 64), {"in", "out", "buf"});
      return reader_.error_at(
          at, diag::kPlanBuffer, "unknown buffer `" + std::string(word.substr(0, 40)) + "`",
          near.empty() ? "a schedule has `in`, `out`, `buf` and tmps `t0`, `t1`, ..." : "did you mean `" + near + "`?");
    }
    if (p.buffer < buffers::kFirstTmp) reader_.word();
    if (!reader_.expect("[") || !reader_.number(p.place, "a place") || !reader_.expect("]") || !reader_.expect("@"))
      return false;
    if (!reader_.accept_word("all")) return reader_.rank(p.rank, s_.ranks());
    p.rank = kAllRanks;
    return true;
  }

  bool read_attributes(ScheduleOp& op) {
    if (reader_.accept_word("length")) {
      uint32_t at = reader_.position();
      if (!reader_.number(op.length, "a number of places")) return false;
      if (op.length == 0 || op.length > longest_)
        return reader_.error_at(
            at, diag::kPlanLength, "a length of " + std::to_string(op.length) + " places",
            "at least 1 place, and no more than the longest buffer has (" + std::to_string(longest_) + ")");
    }
    uint32_t value = 0;
    if (reader_.accept_word("grid")) {
      uint32_t at = reader_.position();
      if (!reader_.number(value, "a grid")) return false;
      if (value >= s_.grids.size())
        return reader_.error_at(at, diag::kPlanGrid,
                                "grid " + std::to_string(value) + " is not in the schedule, which has " +
                                    range_words(s_.grids.size(), "grid", "grids"));
      op.grid = static_cast<uint16_t>(value);
    }
    if (reader_.accept_word("hint")) {
      uint32_t at = reader_.position();
      if (!reader_.number(value, "a hint")) return false;
      if (value >= s_.hints.size())
        return reader_.error_at(at, diag::kScheduleHint,
                                "hint " + std::to_string(value) + " is not in the table, which has " +
                                    range_words(s_.hints.size(), "hint", "hints"));
      op.hint = static_cast<uint16_t>(value);
    }
    if (reader_.accept_word("line")) {
      uint32_t at = reader_.position();
      if (!reader_.number(op.line, "a source line")) return false;
      if (op.line >= s_.lines.lines.size())
        return reader_.error_at(at, diag::kPlanLine,
                                "line " + std::to_string(op.line) + " is not in the table, which has " +
                                    range_words(s_.lines.lines.size(), "line", "lines"));
    }
    return reader_.finish_line();
  }

  bool check(const ScheduleOp& op) {
    const Place* sources = s_.sources.data() + op.first_source;
    if (op.dst.buffer == buffers::kIn)
      return reader_.error_at(op_at_, diag::kScheduleWritesIn, "`in` as a destination",
                              "`in` is never written; `buf` and `out` are");
    if (op.kind == ScheduleOp::Kind::kCopy && op.source_count != 1)
      return reader_.error_at(op_at_, diag::kScheduleShape, "a copy of several sources",
                              "`+=` and `= reduce` fold several");
    if (op.kind != ScheduleOp::Kind::kCopy && op.dst.rank == kAllRanks)
      return reader_.error_at(op_at_, diag::kScheduleShape, "a reduction into all ranks",
                              "only a copy has `@all` as its destination: reduce first, then copy");
    for (uint32_t i = 0; i < op.source_count; ++i)
      if (sources[i].rank == kAllRanks && op.kind == ScheduleOp::Kind::kCopy)
        return reader_.error_at(places_at_[1 + i], diag::kScheduleShape, "a copy from all ranks",
                                "only a reduction has `@all` as a source");
    if (!check_place(op, op.dst, places_at_[0])) return false;
    for (uint32_t i = 0; i < op.source_count; ++i)
      if (!check_place(op, sources[i], places_at_[1 + i])) return false;
    return true;
  }

  bool check_place(const ScheduleOp& op, const Place& p, uint32_t at) {
    uint64_t places = 0;
    if (p.rank == kAllRanks && p.buffer < buffers::kBuf) {
      places = uint64_t{p.buffer == buffers::kIn ? least_in_ : least_out_} * s_.grids[op.grid].parts;
    } else {
      places = s_.places(p.rank, p.buffer, op.grid);
    }
    if (p.buffer < buffers::kFirstTmp && grid_use_[op.grid] == kUnused) grid_use_[op.grid] = at;
    if (uint64_t{p.place} + op.length <= places) return true;
    std::string seen = op.length == 1 ? "place " + std::to_string(p.place)
                                      : "places " + std::to_string(p.place) + " to " +
                                            std::to_string(uint64_t{p.place} + op.length - 1);
    return reader_.error_at(at, diag::kPlanPlace,
                            seen + " of `" + s_.buffer_name(p.buffer) + "` of " +
                                (p.rank == kAllRanks ? "some rank" : "rank " + std::to_string(p.rank)) +
                                ", which has " + range_words(places, "place", "places"),
                            "a range that wraps round is written as two statements");
  }

  TextReader reader_;
  HeadReader head_;
  Schedule s_;
  bool in_body_ = false;
  uint32_t least_in_ = 0xffffffffu, least_out_ = 0xffffffffu;
  uint64_t longest_ = 0;
  std::vector<uint32_t> grid_use_;
  uint32_t op_at_ = 0;
  std::vector<uint32_t> places_at_;  // destination, then sources, of the current line
};

}  // namespace

std::optional<Schedule> parse_schedule(const SourceFile& file, Diagnostics& diagnostics) {
  return ScheduleReader(file, diagnostics).read();
}

}  // namespace coll
