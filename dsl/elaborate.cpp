// AST -> Schedule IR: settings are checked, the contract is built, then the algorithm is run statement by statement.
//
// A ring of 1,024 ranks is 2.1 million statements, so a statement must cost well under 100 ns: no allocation, no
// lookup, no string on its way (see program.h); the common statement, one place to one place, goes straight from
// four small expressions to one ScheduleOp.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "dsl/collective.h"
#include "dsl/diagnostics.h"
#include "dsl/frontend.h"
#include "dsl/runner.h"
#include "ir/support/check.h"

namespace coll {

namespace dsl {

namespace {

using namespace ast;

constexpr uint32_t kMostRanks = 1u << 20;
constexpr int64_t kMostHintValue = 4095;
constexpr uint32_t kHintUnknown = 0xffffffffu;  // a hint that depends on variables

class AlgorithmRunner : public Runner {
 public:
  AlgorithmRunner(const File& file, const Item& item, Program& program, const ElaborateOptions& options,
                  Schedule& schedule, Diagnostics& diagnostics)
      : Runner(file, item, program, diagnostics),
        options_(options),
        schedule_(schedule),
        ranks_(schedule.contract.ranks),
        v_(schedule.contract.kind == ContractKind::kAllToAllV) {
    count_places(1);
    // Scratch is numbered by the checker; it is declared before its first use, but not before all other statements.
    schedule_.hints.clear();
    hint_id(Hint{}, item.name_span);
  }

 private:
  const Contract& contract() const { return schedule_.contract; }

  // --- declarations -------------------------------------------------------------------------------------------------

  void declare(const Stmt& s) override {
    switch (s.kind) {
      case Stmt::Kind::kChunks: {
        int64_t k = value(s, s.value);
        int64_t most = kMostPlaces / std::max<int64_t>(1, contract().buf_blocks());
        if (k < 1 || k > most) {
          refuse(diag::kChunksOutOfRange, s.span,
                 "`chunks` is " + std::to_string(k) + ": a block is cut into 1 to " + std::to_string(most) + " parts",
                 k == 0 ? "for few ranks, `max(1, ...)` keeps it from becoming 0" : "");
        }
        count_places(static_cast<uint32_t>(k));
        break;
      }
      case Stmt::Kind::kInstances: {
        int64_t k = value(s, s.value);
        if (k < 1 || k > 256)
          refuse(diag::kInstancesOutOfRange, s.span, "`instances` is " + std::to_string(k) + ": it is 1 to 256");
        schedule_.instances = static_cast<uint32_t>(k);
        break;
      }
      case Stmt::Kind::kTmp: {
        int64_t places = value(s, s.value);
        if (places < 1 || places > kMostPlaces) {
          refuse(diag::kTmpSize, s.span,
                 "scratch " + quoted(s.name) + " has " + std::to_string(places) + " places: it is 1 to " +
                     std::to_string(kMostPlaces));
        }
        COLL_CHECK(s.slot == schedule_.tmps.size(), "scratch is numbered in order of declaration");
        schedule_.tmps.push_back({std::string(s.name), static_cast<uint32_t>(places)});
        break;
      }
      default:
        for (const HintItem& h : s.hints) apply_hint(s, h, everywhere_);
    }
  }

  void count_places(uint32_t parts) {
    parts_ = parts;
    schedule_.grids[0].parts = parts;
    buf_places_ = contract().buf_blocks() * parts;
    for (auto* list : {&in_places_, &out_places_}) list->resize(ranks_);
    for (uint32_t r = 0; r < ranks_; ++r) {
      in_places_[r] = contract().in_blocks(r) * parts;
      out_places_[r] = contract().out_blocks(r) * parts;
    }
  }

  // --- hints --------------------------------------------------------------------------------------------------------

  int32_t hint_value(int64_t v, const HintItem& h) {
    if (v < 0 || v > kMostHintValue) {
      refuse(diag::kHintOutOfRange, h.span,
             text(h.span) + " is number " + std::to_string(v) + ": it is 0 to " + std::to_string(kMostHintValue));
    }
    return static_cast<int32_t>(v);
  }

  void apply_hint(const Stmt& s, const HintItem& h, Hint& out) {
    switch (h.kind) {
      case HintItem::Kind::kChannel:
        out.channel = hint_value(value(s, h.value), h);
        break;
      case HintItem::Kind::kLane:
        out.lane = hint_value(value(s, h.value), h);
        break;
      case HintItem::Kind::kProtocol:
        out.protocol = std::string(h.word);
        break;
      case HintItem::Kind::kVia:
        out.via = std::string(h.word);
        break;
      case HintItem::Kind::kWire:
        out.wire = std::string(h.word);
        break;
    }
  }

  uint16_t hint_id(const Hint& h, Span span) {
    auto key = std::tuple(h.channel, h.lane, h.protocol, h.via, h.wire);
    auto [it, fresh] = hint_ids_.emplace(key, static_cast<uint16_t>(schedule_.hints.size()));
    if (fresh) {
      if (schedule_.hints.size() >= 65535) {
        hint_ids_.erase(it);
        refuse(diag::kTooManyHints, span, "more than 65535 different hints in one algorithm",
               "fewer channels or lanes do as well");
      }
      schedule_.hints.push_back(h);
    }
    return it->second;
  }

  // The hint of a statement whose channel or lane depends on variables. Neighbouring statements mostly share it.
  uint16_t variable_hint(const Step& s) {
    Hint h = fixed_hints_[s.line];
    for (const HintItem& item : s.stmt->hints) {
      if (item.kind == HintItem::Kind::kChannel) h.channel = hint_value(program_.eval(s.channel), item);
      if (item.kind == HintItem::Kind::kLane) h.lane = hint_value(program_.eval(s.lane), item);
    }
    if (last_hint_line_ == s.line && last_channel_ == h.channel && last_lane_ == h.lane) return last_hint_;
    last_hint_ = hint_id(h, s.stmt->span);
    last_hint_line_ = s.line;
    last_channel_ = h.channel;
    last_lane_ = h.lane;
    return last_hint_;
  }

  // --- statements ---------------------------------------------------------------------------------------------------

  void compile_leaf(Step& s) override {
    const Stmt& stmt = *s.stmt;
    s.line = static_cast<uint32_t>(schedule_.lines.lines.size());
    schedule_.lines.lines.push_back({0, file_.source->line_of(stmt.span.begin)});
    schedule_.line_ranges.push_back(range(stmt.span));
    Hint h = everywhere_;
    bool variable = false;
    for (const HintItem& item : stmt.hints) {
      if (item.kind != HintItem::Kind::kChannel && item.kind != HintItem::Kind::kLane) {
        apply_hint(stmt, item, h);
        continue;
      }
      NodeId n = program_.compile(item.value);
      (item.kind == HintItem::Kind::kChannel ? s.channel : s.lane) = n;
      variable = true;
    }
    fixed_hints_.push_back(h);
    s.hint = variable ? kHintUnknown : hint_id(h, stmt.span);
  }

  uint32_t rank_of(const CompiledAccess& a) { return a.all ? kAllRanks : wrap(program_.eval(a.rank), ranks_); }

  // Places of the buffer of an access on a rank; refuses where there are none.
  uint32_t count_of(const CompiledAccess& a, uint32_t rank) {
    if (a.buffer == buffers::kBuf) return buf_places_;
    if (a.buffer >= buffers::kFirstTmp) return schedule_.tmps[a.buffer - buffers::kFirstTmp].places;
    const std::vector<uint32_t>& counts = a.buffer == buffers::kIn ? in_places_ : out_places_;
    if (rank != kAllRanks) {
      if (counts[rank] != 0) return counts[rank];
    } else {
      auto none = std::find(counts.begin(), counts.end(), 0u);
      if (none == counts.end()) return counts[0];
      rank = static_cast<uint32_t>(none - counts.begin());
    }
    no_buffer(a, rank);
  }

  [[noreturn]] void no_buffer(const CompiledAccess& a, uint32_t rank) {
    const char* which = a.buffer == buffers::kIn ? "in" : "out";
    std::string rule;
    if (contract().kind == ContractKind::kSendRecv) {
      rule = a.buffer == buffers::kIn ? "only `src` has one, rank " + std::to_string(contract().root)
                                      : "only `dst` has one, rank " + std::to_string(contract().dst);
    } else if (contract().has_root()) {
      rule = "only the root has one, rank " + std::to_string(contract().root);
    } else {
      rule = "its collective gives the ranks none";
    }
    refuse(diag::kNoBufferHere, a.source->span,
           "rank " + std::to_string(rank) + " has no `" + which + "` in `" + contract().name + "`: " + rule,
           "`buf` is there on every rank");
  }

  // Growing by doubling would touch three times the memory: for millions of statements most of the time.
  void expect(uint64_t leaves, uint64_t sure, const Stmt& stmt) override {
    if (options_.only_rank != kAllRanks) return;
    uint64_t left = options_.max_ops - schedule_.ops.size();
    if (sure > left) {
      refuse_size(stmt.span, "this is spelt out into " + amount(sure, "statements") + ": an algorithm has up to " +
                                 std::to_string(options_.max_ops));
    }
    if (leaves > left) return;
    uint64_t total = schedule_.ops.size() + leaves;
    if (total <= schedule_.ops.capacity()) return;
    // Twice as much, since a second phase mostly follows; memory that is not touched costs nothing.
    schedule_.ops.reserve(std::min(2 * total, options_.max_ops));
    schedule_.sources.reserve(std::min(2 * total, options_.max_ops));
  }

  void leaf(Step& s) override {
    const CompiledAccess* accesses = s.accesses.data();
    const size_t n = s.accesses.size();
    if (n == 2 && accesses[0].last == kNoNode && accesses[1].last == kNoNode) {
      uint32_t to = rank_of(accesses[0]), from = rank_of(accesses[1]);
      if (options_.only_rank != kAllRanks && to != options_.only_rank && from != options_.only_rank &&
          to != kAllRanks && from != kAllRanks)
        return;
      Places d = places(accesses[0], count_of(accesses[0], to), accesses[0].buffer < buffers::kFirstTmp);
      Places f = places(accesses[1], count_of(accesses[1], from), accesses[1].buffer < buffers::kFirstTmp);
      if (v_) check_v(s, to, d.start, from, f.start, 1);
      ScheduleOp& op = emit(s, 1, 1);
      op.dst = {to, static_cast<uint16_t>(accesses[0].buffer), d.start};
      schedule_.sources.push_back({from, static_cast<uint16_t>(accesses[1].buffer), f.start});
      return;
    }
    general(s);
  }

  ScheduleOp& emit(const Step& s, uint32_t length, uint32_t source_count) {
    if (schedule_.ops.size() >= options_.max_ops || schedule_.sources.size() / 2 >= options_.max_ops) {
      refuse_size(s.stmt->span, "an algorithm has up to " + std::to_string(options_.max_ops) +
                                    " statements, with two places read in each on average, and this is one more" +
                                    values());
    }
    uint16_t hint = s.hint == kHintUnknown ? variable_hint(s) : static_cast<uint16_t>(s.hint);
    ScheduleOp& op = schedule_.ops.emplace_back();
    op.kind = s.stmt->accumulates ? ScheduleOp::Kind::kAccumulate
              : s.stmt->reduces   ? ScheduleOp::Kind::kReduce
                                  : ScheduleOp::Kind::kCopy;
    op.hint = hint;
    op.line = s.line;
    op.length = length;
    op.first_source = static_cast<uint32_t>(schedule_.sources.size());
    op.source_count = source_count;
    return op;
  }

  struct Piece {
    uint32_t rank = 0, count = 0;
    Places at;
  };

  // Several sources or ranges. A range that wraps anywhere is cut at every wrap point, and the pieces are statements
  // one after another.
  void general(Step& s) {
    const size_t n = s.accesses.size();
    pieces_.resize(n);
    bool kept = options_.only_rank == kAllRanks;
    for (size_t i = 0; i < n; ++i) {
      pieces_[i].rank = rank_of(s.accesses[i]);
      kept |= pieces_[i].rank == options_.only_rank || pieces_[i].rank == kAllRanks;
    }
    if (!kept) return;
    uint32_t length = 0;
    bool cut = false;
    for (size_t i = 0; i < n; ++i) {
      const CompiledAccess& a = s.accesses[i];
      Piece& p = pieces_[i];
      p.count = count_of(a, p.rank);
      p.at = places(a, p.count, a.buffer < buffers::kFirstTmp);
      if (i == 0) length = p.at.length;
      if (p.at.length != length) {
        refuse(diag::kLengthMismatch, a.source->span,
               text(a.source->span) + " has " + std::to_string(p.at.length) +
                   (p.at.length == 1 ? " place" : " places") + ", " + text(s.accesses[0].source->span) + " has " +
                   std::to_string(length) + ": all places of a statement are equally many");
      }
      cut |= uint64_t{p.at.start} + length > p.count;
    }
    if (cut) check_overlap(s, length);
    for (uint32_t done = 0; done < length;) {
      uint32_t piece = length - done;
      for (const Piece& p : pieces_) piece = std::min(piece, p.count - (p.at.start + done) % p.count);
      if (v_) check_v(s, pieces_[0].rank, place(0, done), pieces_[1].rank, place(1, done), piece);
      ScheduleOp& op = emit(s, piece, static_cast<uint32_t>(n - 1));
      op.dst = {pieces_[0].rank, static_cast<uint16_t>(s.accesses[0].buffer), place(0, done)};
      for (size_t i = 1; i < n; ++i)
        schedule_.sources.push_back({pieces_[i].rank, static_cast<uint16_t>(s.accesses[i].buffer), place(i, done)});
      done += piece;
    }
  }

  uint32_t place(size_t i, uint32_t done) const {
    return static_cast<uint32_t>((uint64_t{pieces_[i].at.start} + done) % pieces_[i].count);
  }

  // A statement reads all its sources before it writes. Cut in pieces it would not, if it wrote what a later piece
  // reads; such a statement needs scratch, and its author shall see it. Conservative: any overlap but place by place.
  void check_overlap(const Step& s, uint32_t length) {
    const Piece& d = pieces_[0];
    for (size_t i = 1; i < pieces_.size(); ++i) {
      const Piece& f = pieces_[i];
      if (d.rank != f.rank && d.rank != kAllRanks && f.rank != kAllRanks) continue;
      auto space = [](uint32_t buffer) { return buffer < buffers::kFirstTmp ? buffers::kBuf : buffer; };
      if (space(s.accesses[0].buffer) != space(s.accesses[i].buffer)) continue;
      uint32_t rank = d.rank == kAllRanks ? f.rank : d.rank;
      uint64_t to = d.at.start + offset(s.accesses[0].buffer, rank);
      uint64_t from = f.at.start + offset(s.accesses[i].buffer, rank);
      uint64_t count = std::max(d.count, f.count);
      if (to == from && d.count == f.count) continue;
      uint64_t ahead = to >= from ? to - from : to + count - from;
      uint64_t behind = from >= to ? from - to : from + count - to;
      if (ahead >= length && behind >= length) continue;
      refuse(diag::kWrappedOverlap, s.accesses[i].source->span,
             text(s.accesses[i].source->span) + " overlaps " + text(s.accesses[0].source->span) +
                 " on the same rank, and the range wraps: its pieces would read what was written",
             "copy through a `tmp`");
    }
  }

  // Where `in` and `out` lie in the in-place view.
  uint32_t offset(uint32_t buffer, uint32_t rank) const {
    if (rank == kAllRanks) return 0;
    if (buffer == buffers::kIn) return contract().in_offset(rank) * parts_;
    if (buffer == buffers::kOut) return contract().out_offset(rank) * parts_;
    return 0;
  }

  // Blocks (i, j) have lengths that only i and j know: what crosses goes straight from in[i][j] to out[j][i].
  void check_v(const Step& s, uint32_t to, uint32_t to_place, uint32_t from, uint32_t from_place, uint32_t length) {
    bool straight = s.accesses[0].buffer == buffers::kOut && s.accesses[1].buffer == buffers::kIn &&
                    !s.stmt->accumulates && !s.stmt->reduces && from_place / parts_ == to &&
                    to_place / parts_ == from && from_place % parts_ == to_place % parts_ &&
                    from_place % parts_ + length <= parts_;
    if (straight) return;
    refuse(
        diag::kAlltoallvTransfer, s.stmt->span,
        "in `alltoallv` a statement moves block j of rank i's `in` straight to block i of rank j's `out`: other ranks "
        "do not know how long it is",
        "`out[j][i] = in[i][j]`; passing blocks on needs the lengths of all, which is not available yet");
  }

  const ElaborateOptions& options_;
  Schedule& schedule_;
  uint32_t ranks_ = 0;
  bool v_ = false;
  uint32_t parts_ = 1, buf_places_ = 1;
  std::vector<uint32_t> in_places_, out_places_;
  Hint everywhere_;
  std::map<std::tuple<int32_t, int32_t, std::string, std::string, std::string>, uint16_t> hint_ids_;
  std::vector<Hint> fixed_hints_;  // by line
  uint32_t last_hint_line_ = kHintUnknown;
  int32_t last_channel_ = -1, last_lane_ = -1;
  uint16_t last_hint_ = 0;
  std::vector<Piece> pieces_;
};

// FNV-1a, 64 bits.
class Hash {
 public:
  void add(std::string_view s) {
    for (char c : s) byte(static_cast<uint8_t>(c));
    add(uint64_t{s.size()});
  }
  void add(uint64_t v) {
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(v >> (8 * i)));
  }
  uint64_t value() const { return value_; }

 private:
  void byte(uint8_t b) { value_ = (value_ ^ b) * 0x100000001b3ull; }
  uint64_t value_ = 0xcbf29ce484222325ull;
};

class Elaborator {
 public:
  Elaborator(const File& file, const ElaborateOptions& options, Diagnostics& diagnostics)
      : file_(file), options_(options), diagnostics_(diagnostics) {}

  std::optional<Schedule> run() {
    for (const Item& item : file_.items)
      if (!item.sound) return std::nullopt;
    const Item* item = choose();
    if (item == nullptr || !settings(*item)) return std::nullopt;
    World world = World::make(options_.ranks, options_.machine);
    world.root = options_.root;
    world.dst = options_.dst;
    Program program(file_, world, options_.max_steps);
    program.enter(item->slots);
    for (uint32_t i = 0; i < item->parameters.size(); ++i) program.bind(i, parameter_values_[i]);

    Schedule schedule;
    schedule.name = std::string(item->name);
    if (!contract(*item, world, program, schedule.contract)) return std::nullopt;
    schedule.lines.files = {file_.source->name()};
    schedule.only_rank = options_.only_rank;
    schedule.family_hash = family(*item, world);
    world.root = schedule.contract.root;
    world.dst = schedule.contract.dst;
    if (!AlgorithmRunner(file_, *item, program, options_, schedule, diagnostics_).run()) return std::nullopt;
    return schedule;
  }

 private:
  Diagnostic& error(DiagnosticId id, Span span, std::string message, std::string hint = {}) {
    return diagnostics_.error(id, file_.range(span), std::move(message), std::move(hint));
  }

  const Item* choose() {
    std::vector<const Item*> found;
    std::vector<std::string> names;
    for (const Item& item : file_.items) {
      if (item.kind != Item::Kind::kAlgorithm) continue;
      found.push_back(&item);
      names.emplace_back(item.name);
    }
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    if (found.empty()) {
      uint32_t end = static_cast<uint32_t>(file_.source->text().size());
      Span span = file_.items.empty() ? Span{end, end} : file_.items[0].name_span;
      error(diag::kNoAlgorithm, span, "the file has no algorithm",
            "`algorithm name implements allreduce { ... }` is one");
      return nullptr;
    }
    if (options_.algorithm.empty()) {
      if (found.size() == 1) return found[0];
      error(diag::kSeveralAlgorithms, found[1]->name_span,
            "the file has several algorithms and none was chosen: " + list,
            "`--algorithm " + names[0] + "` chooses one");
      return nullptr;
    }
    for (const Item* item : found)
      if (item->name == options_.algorithm) return item;
    error(diag::kUnknownAlgorithm, found[0]->name_span,
          "the file has no algorithm `" + options_.algorithm + "`, but: " + list,
          did_you_mean(options_.algorithm, names, diagnostics_));
    return nullptr;
  }

  bool settings(const Item& item) {
    size_t before = diagnostics_.error_count();
    if (options_.ranks < 1 || options_.ranks > kMostRanks) {
      error(diag::kRanksOutOfRange, item.name_span,
            std::to_string(options_.ranks) + " ranks: there are 1 to " + std::to_string(kMostRanks));
    } else if (!options_.machine.node_sizes.empty()) {
      uint64_t sum = 0;
      bool empty = false;
      for (uint32_t s : options_.machine.node_sizes) sum += s, empty |= s == 0;
      if (sum != options_.ranks || empty) {
        error(diag::kRanksOutOfRange, item.name_span,
              std::to_string(options_.machine.node_sizes.size()) + " nodes hold " + std::to_string(sum) +
                  " ranks, asked for are " + std::to_string(options_.ranks) +
                  ": every node holds at least one rank, and together they hold all");
      }
    }
    std::vector<std::string> names;
    for (const Parameter& p : item.parameters) names.emplace_back(p.name);
    for (const auto& [name, value] : options_.parameters) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      std::string list;
      for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
      error(diag::kUnknownParameter, item.name_span,
            "algorithm " + quoted(item.name) + " has no parameter " + quoted(name) +
                (list.empty() ? std::string() : ", but: " + list),
            did_you_mean(name, names, diagnostics_));
    }
    for (const Parameter& p : item.parameters) {
      auto it = options_.parameters.find(std::string(p.name));
      parameter_values_.push_back(it == options_.parameters.end() ? p.default_value : it->second);
    }
    return diagnostics_.error_count() == before;
  }

  bool contract(const Item& item, const World& world, Program& program, Contract& out) {
    std::vector<int64_t> arguments;
    for (ExprId a : item.contract_arguments) {
      try {
        arguments.push_back(program.eval(program.compile(a)));
      } catch (const EvalFault& f) {
        // Told by a runner, which knows how.
        ArgumentTeller(file_, item, program, diagnostics_).show(f);
        return false;
      }
    }
    if (!item.builtin) {
      const Item& collective = file_.items[item.collective];
      std::optional<Contract> built =
          build_collective(file_, collective, arguments, world, options_.max_steps, diagnostics_);
      if (built) out = std::move(*built);
      return built.has_value();
    }
    out.kind = *item.builtin;
    out.name = name(out.kind);
    out.ranks = options_.ranks;
    bool sendrecv = out.kind == ContractKind::kSendRecv;
    if (!out.has_root() && !sendrecv) return true;
    int64_t root = arguments.empty() ? options_.root : arguments[0];
    int64_t dst = !sendrecv ? 0 : arguments.size() < 2 ? int64_t{options_.dst} : arguments[1];
    for (int64_t r : {root, dst}) {
      if (r >= 0 && r < options_.ranks) continue;
      error(diag::kRootOutOfRange, item.contract_span,
            std::string(sendrecv ? (r == root ? "src" : "dst") : "the root") + " is rank " + std::to_string(r) +
                ": with " + std::to_string(options_.ranks) + " ranks it is 0 to " + std::to_string(options_.ranks - 1));
      return false;
    }
    out.root = static_cast<uint32_t>(root);
    out.dst = static_cast<uint32_t>(dst);
    return true;
  }

  class ArgumentTeller : public Runner {
   public:
    using Runner::Runner;
    void show(const EvalFault& f) { tell(f); }

   private:
    void declare(const Stmt&) override {}
    void compile_leaf(Step&) override {}
    void leaf(Step&) override {}
  };

  uint64_t family(const Item& item, const World& world) const {
    Hash h;
    h.add(file_.source->text());
    h.add(item.name);
    for (uint64_t v : {uint64_t{options_.ranks}, uint64_t{options_.root}, uint64_t{options_.dst}}) h.add(v);
    for (int64_t v : parameter_values_) h.add(static_cast<uint64_t>(v));
    for (uint32_t s : world.node_sizes) h.add(uint64_t{s});
    return h.value();
  }

  const File& file_;
  const ElaborateOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<int64_t> parameter_values_;
};

}  // namespace

}  // namespace dsl

std::optional<Schedule> elaborate(const ast::File& file, const ElaborateOptions& options, Diagnostics& diagnostics) {
  return dsl::Elaborator(file, options, diagnostics).run();
}

}  // namespace coll
