#include "ir/text_reader.h"

#include <algorithm>

#include "ir/schedule.h"

namespace coll {

namespace {

std::vector<std::string> words(const std::vector<HeadReader::Keyword>& keywords) {
  std::vector<std::string> list;
  for (const auto& k : keywords) list.emplace_back(k.word);
  return list;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise) {
  std::string near = nearest(word.substr(0, 64), candidates);
  return near.empty() ? otherwise : "did you mean `" + near + "`?";
}

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "`" : ", `") + s + "`";
  return out;
}

}  // namespace

std::string range_words(uint64_t size, const char* one, const char* many) {
  if (size == 0) return std::string("no ") + many;
  if (size == 1) return std::string("only ") + one + " 0";
  return std::string(many) + " 0 to " + std::to_string(size - 1);
}

TextReader::TextReader(const SourceFile& file, Diagnostics& diagnostics)
    : file_(file), diagnostics_(diagnostics), text_begin_(file.text().data()) {
  text_end_ = text_begin_ + file.text().size();
  p_ = line_begin_ = line_end_ = text_begin_;
}

bool TextReader::next_line() {
  // line_end_ stands on the newline of the line before (or at the beginning of the text at first).
  bool first = line_begin_ == text_begin_ && line_end_ == text_begin_ && p_ == text_begin_;
  const char* begin = first ? text_begin_ : line_end_ + 1;
  while (begin < text_end_) {
    const void* newline = std::memchr(begin, '\n', static_cast<size_t>(text_end_ - begin));
    line_begin_ = p_ = begin;
    line_end_ = newline == nullptr ? text_end_ : static_cast<const char*>(newline);
    if (!at_end()) return true;
    begin = line_end_ + 1;
  }
  p_ = line_begin_ = line_end_ = text_end_;
  return false;
}

const char* TextReader::token_end(const char* p) const {
  if (p == line_end_) return p;
  const char* begin = p;
  while (p != line_end_ && is_word(*p)) ++p;
  return p == begin ? p + 1 : p;
}

std::string TextReader::seen() {
  if (at_end()) return "the end of the line";
  const char* end = token_end(p_);
  std::string token(p_, static_cast<size_t>(std::min<ptrdiff_t>(end - p_, 40)));
  for (char& c : token)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return "`" + token + "`";
}

bool TextReader::error_at(uint32_t offset, DiagnosticId id, std::string message, std::string hint) {
  ++errors_;
  const char* begin = text_begin_ + offset;
  uint32_t end = begin < text_end_ && begin >= line_begin_ && begin < line_end_
                     ? static_cast<uint32_t>(token_end(begin) - text_begin_)
                     : offset + 1;
  diagnostics_.error(id, {&file_, offset, end}, std::move(message), std::move(hint));
  return false;
}

bool TextReader::error(DiagnosticId id, std::string message, std::string hint) {
  return error_at(position(), id, std::move(message), std::move(hint));
}

bool TextReader::bad_number(const char* what, uint64_t most) {
  if (next_is_digit())
    return error(diag::kPlanNumber, seen() + " is not " + what, "decimal digits only, at most " + std::to_string(most));
  return error(diag::kPlanNumber, "saw " + seen() + ", expected " + what + ", a number");
}

bool TextReader::id(char letter, uint32_t& value, const char* what) {
  skip_spaces();
  if (p_ + 1 >= line_end_ || *p_ != letter || p_[1] < '0' || p_[1] > '9')
    return error(diag::kPlanSyntax, "saw " + seen() + ", expected " + what,
                 std::string("written `") + letter + "` and its number, as in `" + letter + "0`");
  ++p_;
  return number(value, what);
}

bool TextReader::rank(uint32_t& value, uint32_t ranks) {
  uint32_t at = position();
  if (!id('r', value, "a rank")) return false;
  if (value < ranks) return true;
  return error_at(at, diag::kPlanRank,
                  "rank " + std::to_string(value) + " is outside the world: this collective has " +
                      range_words(ranks, "rank", "ranks"));
}

bool TextReader::expect_word(std::string_view expected) {
  if (accept_word(expected)) return true;
  return error(diag::kPlanSyntax, "saw " + seen() + ", expected `" + std::string(expected) + "`");
}

bool TextReader::expect(std::string_view symbol) {
  if (accept(symbol)) return true;
  return error(diag::kPlanSyntax, "saw " + seen() + ", expected `" + std::string(symbol) + "`");
}

bool TextReader::string(std::string& value) {
  if (next_char() != '"') return error(diag::kPlanSyntax, "saw " + seen() + ", expected a string in double quotes");
  uint32_t at = position();
  value.clear();
  for (const char* p = p_ + 1; p != line_end_; ++p) {
    if (*p == '"') {
      p_ = p + 1;
      return true;
    }
    if (*p != '\\') {
      value += *p;
      continue;
    }
    uint32_t here = static_cast<uint32_t>(p - text_begin_);
    if (++p == line_end_) break;
    if (*p == '"' || *p == '\\') {
      value += *p;
    } else if (unsigned byte = 0;
               *p == 'x' && line_end_ - p > 2 && std::from_chars(p + 1, p + 3, byte, 16).ptr == p + 3) {
      value += static_cast<char>(byte);
      p += 2;
    } else {
      return error_at(here, diag::kPlanString, "unknown escape in a string",
                      R"(`\\`, `\"` and `\x` with two hexadecimal digits are known)");
    }
  }
  return error_at(at, diag::kPlanString, "a string that does not end on its line", "close it with `\"`");
}

bool TextReader::finish_line() {
  if (at_end()) return true;
  return error(diag::kPlanTrailing, "saw " + seen() + " after the end of what this line may say",
               "attributes come in the order of ir/README.md, each at most once; `#` begins a comment");
}

uint32_t TextReader::lines_left() const { return static_cast<uint32_t>(std::count(line_end_, text_end_, '\n')); }

bool TextReader::first_line(std::string_view kind, uint32_t version) {
  std::string expected = "collc " + std::string(kind) + " " + std::to_string(version);
  if (file_.text().size() >= 0xffffffffu)
    return error_at(0, diag::kPlanLimit, "a text of 4 GiB or more: places in it are 32-bit offsets");
  if (!next_line() || !accept_word("collc"))
    return error(diag::kPlanFirstLine, "this is not a " + std::string(kind) + " in text",
                 "its first line is `" + expected + "`");
  if (!accept_word(kind))
    return error(diag::kPlanFirstLine, "saw " + seen() + ", expected `" + std::string(kind) + "`",
                 "its first line is `" + expected + "`");
  uint32_t at = position(), seen_version = 0;
  if (!number(seen_version, "the version")) return false;
  if (seen_version != version)
    return error_at(at, diag::kPlanVersion,
                    "version " + std::to_string(seen_version) + " of the text form; this reader knows only version " +
                        std::to_string(version),
                    "print it again with the program that reads it");
  return finish_line();
}

std::string_view HeadReader::next() {
  seen_.resize(keywords_.size());
  uint32_t at = reader_.position();
  std::string_view word = reader_.peek_word();
  size_t k = 0;
  while (k < keywords_.size() && keywords_[k].word != word) ++k;
  if (k == keywords_.size()) {
    std::vector<std::string> known = words(keywords_);
    reader_.error(diag::kPlanUnknownLine, "saw " + reader_.seen() + ", which begins no line of the head",
                  did_you_mean(word, known, "known are " + joined(known)));
    return {};
  }
  reader_.word();
  std::string shown(word);
  if (k < at_ || (k == at_ && seen_[k] && !keywords_[k].repeats)) {
    if (k == at_ || (seen_[k] && !keywords_[k].repeats)) {
      reader_.error_at(at, diag::kPlanHeadOrder, "`" + shown + "` is given twice; it may be given once");
    } else {
      reader_.error_at(
          at, diag::kPlanHeadOrder,
          "`" + shown + "` after `" + std::string(keywords_[at_].word) + "`: lines of the head have a fixed order",
          "the order is " + joined(words(keywords_)));
    }
    return {};
  }
  at_ = k;
  seen_[k] = 1;
  // Rows of the head refer to ranks and grids, so their meaning needs the contract.
  if (word != "name" && word != "needs" && word != "contract" && !seen("contract")) {
    reader_.error_at(at, diag::kPlanMissing, "`" + shown + "` before any `contract`",
                     "a `contract` line comes first, as in `contract allreduce ranks 8`");
    return {};
  }
  return word;
}

bool HeadReader::seen(std::string_view word) const {
  for (size_t k = 0; k < keywords_.size() && k < seen_.size(); ++k)
    if (keywords_[k].word == word) return seen_[k] != 0;
  return false;
}

bool HeadReader::row(size_t due, const char* what, char letter) {
  uint32_t at = reader_.position(), value = 0;
  if (!(letter == '\0' ? reader_.number(value, what) : reader_.id(letter, value, what))) return false;
  if (value == due) return true;
  std::string prefix = letter == '\0' ? "" : std::string(1, letter);
  return reader_.error_at(at, diag::kPlanSequence,
                          std::string(what) + " `" + prefix + std::to_string(value) + "` where `" + prefix +
                              std::to_string(due) + "` is due: they count from 0 without gaps");
}

bool HeadReader::contract(Contract& c) {
  uint32_t at = reader_.position();
  std::string_view word = reader_.word();
  std::optional<ContractKind> kind = parse_contract_kind(word);
  if (word == "custom") kind = ContractKind::kCustom;
  if (!kind) {
    std::vector<std::string> known = contract_names();
    known.emplace_back("custom");
    return reader_.error_at(at, diag::kPlanContract, "unknown collective `" + std::string(word.substr(0, 40)) + "`",
                            did_you_mean(word, known, "known are " + joined(known)));
  }
  c = Contract{};
  c.kind = *kind;
  c.name = name(c.kind);
  if (reader_.accept_word("named") && !reader_.string(c.name)) return false;
  if (!reader_.expect_word("ranks")) return false;
  at = reader_.position();
  if (!reader_.number(c.ranks, "the number of ranks")) return false;
  if (c.ranks == 0 || c.ranks > TextLimits::kRanks)
    return reader_.error_at(at, diag::kPlanLimit,
                            std::to_string(c.ranks) + " ranks; a plan has 1 to " + std::to_string(TextLimits::kRanks));
  auto rank_number = [&](std::string_view what, uint32_t& value) {
    if (!reader_.expect_word(what)) return false;
    uint32_t place = reader_.position();
    if (!reader_.number(value, "a rank")) return false;
    if (value < c.ranks) return true;
    return reader_.error_at(place, diag::kPlanRank,
                            "rank " + std::to_string(value) + " is outside the world: this collective has " +
                                range_words(c.ranks, "rank", "ranks"));
  };
  if (c.kind == ContractKind::kSendRecv) {
    if (!rank_number("src", c.root) || !rank_number("dst", c.dst)) return false;
  } else if (c.has_root()) {
    if (!rank_number("root", c.root)) return false;
  } else if (std::string_view extra = reader_.peek_word(); extra == "root" || extra == "src" || extra == "dst") {
    return reader_.error(diag::kPlanContract, "`" + std::string(extra) + "` for " + name(c.kind) + ", which has none",
                         "reduce, broadcast, gather and scatter have a root; sendrecv has src and dst");
  }
  if (c.kind == ContractKind::kCustom) {
    if (!reader_.expect_word("in") || !reader_.number(c.custom_in, "a number of blocks")) return false;
    if (!reader_.expect_word("out") || !reader_.number(c.custom_out, "a number of blocks")) return false;
  }
  return reader_.finish_line();
}

bool HeadReader::ensure(Contract& c) {
  if (c.kind != ContractKind::kCustom)
    return reader_.error_at(reader_.line_position(), diag::kPlanEnsure,
                            std::string("`ensure` for ") + name(c.kind) + ", whose promises are built in",
                            "only `contract custom` has `ensure` lines");
  auto block_of = [&](std::string_view side, uint32_t blocks, uint32_t& rank, uint32_t& block) {
    if (!reader_.expect_word(side) || !reader_.expect("[")) return false;
    uint32_t at = reader_.position();
    if (!reader_.number(block, "a block")) return false;
    if (block >= blocks)
      return reader_.error_at(at, diag::kPlanEnsure,
                              "block " + std::to_string(block) + " of `" + std::string(side) + "`, which has " +
                                  range_words(blocks, "block", "blocks"));
    return reader_.expect("]") && reader_.expect("@") && reader_.rank(rank, c.ranks);
  };
  Ensure e;
  uint32_t at = reader_.position();
  if (!block_of("out", c.custom_out, e.rank, e.block)) return false;
  if (!c.ensures.empty() && std::pair(c.ensures.back().rank, c.ensures.back().block) >= std::pair(e.rank, e.block))
    return reader_.error_at(at, diag::kPlanEnsure, "a promise given twice or out of order",
                            "promises come in ascending order of rank, then block, at most one each");
  if (!reader_.expect("=")) return false;
  e.reduce = reader_.accept_word("reduce");
  do {
    InBlock from;
    at = reader_.position();
    if (!block_of("in", c.custom_in, from.rank, from.block)) return false;
    if (!e.from.empty() && !(e.from.back() < from))
      return reader_.error_at(at, diag::kPlanEnsure, "a contribution given twice or out of order",
                              "contributions come in ascending order of rank, then block, each once");
    e.from.push_back(from);
  } while (e.reduce && reader_.accept(","));
  if (!reader_.finish_line()) return false;
  c.ensures.push_back(std::move(e));
  return true;
}

bool HeadReader::grid(std::vector<Grid>& grids) {
  Grid g;
  grids.push_back(g);  // a faulty row keeps its number, so that the next one is not faulty too
  if (grids.size() > TextLimits::kGrids)
    return reader_.error(diag::kPlanLimit, "more than " + std::to_string(TextLimits::kGrids) + " grids");
  if (!row(grids.size() - 1, "grid") || !reader_.expect_word("parts")) return false;
  uint32_t at = reader_.position();
  if (!reader_.number(g.parts, "a number of parts")) return false;
  if (g.parts == 0 || g.parts > TextLimits::kPlaces)
    return reader_.error_at(at, diag::kPlanLimit,
                            "a grid of " + std::to_string(g.parts) + " parts; a block is cut into 1 to " +
                                std::to_string(TextLimits::kPlaces));
  if (reader_.accept_word("share")) {
    at = reader_.position();
    if (!reader_.number64(g.lo, "the start of a share", TextLimits::kShare) || !reader_.expect("..") ||
        !reader_.number64(g.hi, "the end of a share", TextLimits::kShare) || !reader_.expect_word("of") ||
        !reader_.number64(g.denominator, "what a share is of", TextLimits::kShare))
      return false;
    if (g.lo > g.hi || g.hi > g.denominator || g.denominator == 0)
      return reader_.error_at(at, diag::kPlanGrid, "a share that is not inside its block",
                              "`share a..b of n` is the elements from a/n to b/n of every block: a <= b <= n, n > 0");
  }
  if (!reader_.finish_line()) return false;
  grids.back() = g;
  return true;
}

bool HeadReader::instances(uint32_t& instances) {
  uint32_t at = reader_.position();
  if (!reader_.number(instances, "a number of instances")) return false;
  if (instances == 0 || instances > TextLimits::kInstances)
    return reader_.error_at(
        at, diag::kPlanLimit,
        std::to_string(instances) + " instances; there are 1 to " + std::to_string(TextLimits::kInstances));
  return reader_.finish_line();
}

bool HeadReader::only(uint32_t& only_rank, const Contract& c) {
  return reader_.rank(only_rank, c.ranks) && reader_.finish_line();
}

bool HeadReader::family(uint64_t& hash) { return reader_.number64(hash, "a hash") && reader_.finish_line(); }

bool HeadReader::file(LineTable& table) {
  table.files.emplace_back();
  return row(table.files.size() - 1, "file") && reader_.string(table.files.back()) && reader_.finish_line();
}

bool HeadReader::line(LineTable& table) {
  table.lines.emplace_back();
  SourceLine& l = table.lines.back();
  if (!row(table.lines.size() - 1, "line") || !reader_.expect_word("file")) return false;
  uint32_t at = reader_.position();
  if (!reader_.number(l.file, "a file")) return false;
  if (l.file >= table.files.size())
    return reader_.error_at(at, diag::kPlanLine,
                            "file " + std::to_string(l.file) + " is not in the table, which has " +
                                range_words(table.files.size(), "file", "files"));
  return reader_.expect(":") && reader_.number(l.line, "a line") && reader_.finish_line();
}

bool HeadReader::complete() {
  for (std::string_view word : {"name", "contract", "grid"})
    if (!seen(word))
      return reader_.error_at(reader_.line_position(), diag::kPlanMissing,
                              "the head ends here and has no `" + std::string(word) + "` line",
                              word == "name"       ? "as in `name \"ring\"`"
                              : word == "contract" ? "as in `contract allreduce ranks 8`"
                                                   : "as in `grid 0 parts 8`");
  return true;
}

void check_grids(TextReader& reader, const std::vector<Grid>& grids, const std::vector<uint32_t>& first_use) {
  // Shares that are not empty, by their start; neighbours in that order overlap if any two do.
  using Wide = unsigned __int128;
  auto less = [](uint64_t a, uint64_t n, uint64_t b, uint64_t m) { return Wide{a} * m < Wide{b} * n; };
  std::vector<uint32_t> used;
  for (uint32_t g = 0; g < grids.size(); ++g)
    if (first_use[g] != kUnused && grids[g].lo < grids[g].hi) used.push_back(g);
  std::sort(used.begin(), used.end(), [&](uint32_t a, uint32_t b) {
    if (less(grids[a].lo, grids[a].denominator, grids[b].lo, grids[b].denominator)) return true;
    if (less(grids[b].lo, grids[b].denominator, grids[a].lo, grids[a].denominator)) return false;
    return a < b;
  });
  for (size_t i = 1; i < used.size(); ++i) {
    const Grid &a = grids[used[i - 1]], &b = grids[used[i]];
    if (!less(b.lo, b.denominator, a.hi, a.denominator)) continue;
    uint32_t at = std::max(first_use[used[i - 1]], first_use[used[i]]);
    reader.error_at(at, diag::kPlanGridOverlap,
                    "grids " + std::to_string(used[i - 1]) + " and " + std::to_string(used[i]) +
                        " both cut the same elements, and both are used on `in` or `out`",
                    "grids of one plan cover disjoint shares, so that a place means the same elements to everyone");
    return;
  }
}

}  // namespace coll
