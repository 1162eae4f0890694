// The grammar is in README.md; the functions below follow it rule by rule.
//
// Words are contextual: a statement is told by its first tokens (`let` before a name, `for` before a name, a name
// before `[`), so that all of them may be names too. Only buf, in, out and tmp are reserved. Lines matter in three
// places: they end statements, a hint stands on the line on which its statement ends, and a call's `(` or a place's `[`
// on the line of its name.
#include "dsl/parser.h"

#include <algorithm>
#include <string>

#include "dsl/expression_parser.h"

namespace coll::dsl {

namespace {

using namespace ast;
using enum TokenKind;

const std::vector<std::string> kStatementWords = {"let",    "for",      "if",        "require", "return", "ensure",
                                                  "chunks", "tmp",      "instances", "on",      "buf",    "out",
                                                  "via",    "protocol", "wire",      "else"};
const std::vector<std::string> kItemWords = {"algorithm", "collective", "function", "pipeline", "operator"};

class Parser : private ExpressionParser {
 public:
  Parser(const SourceFile& source, Tokens& tokens, Diagnostics& diagnostics)
      : ExpressionParser(source, tokens, diagnostics) {}

  File run() {
    while (peek().kind != kEnd) {
      size_t before = at_;
      item();
      if (at_ == before) advance();  // never stand still
    }
    return std::move(file_);
  }

 private:
  // --- items --------------------------------------------------------------------------------------------------------

  bool at_item() const {
    if (!is(kName) || !is(kName, 1) || !peek().newline_before) return false;
    std::string_view word = text(peek());
    return std::any_of(kItemWords.begin(), kItemWords.end(), [&](const std::string& w) { return w == word; });
  }

  // `algoritm a ...`
  bool almost_at_item() const {
    return is(kName) && is(kName, 1) && peek().newline_before &&
           !did_you_mean(text(peek()), kItemWords, diagnostics_).empty();
  }

  void skip_to_item() {
    size_t first = at_;
    for (int depth = 0; !is(kEnd) && !at_item() && !(depth <= 0 && almost_at_item()); advance()) {
      if (is(kBraceOpen)) ++depth;
      if (is(kBraceClose)) --depth;
    }
    for (std::string_view n : names_since(first)) file_.lost.push_back(n);
  }

  void item() {
    sound_ = true;
    lost_brace_ = braces_lost_ = head_done_ = false;
    misaligned_ = {};
    Item it;
    if (at_item()) {
      std::string_view word = text(peek());
      if (word == "pipeline") return pipeline();
      if (word == "operator") return user_operator();
      advance();
      size_t first = at_;
      bool ok = word == "algorithm" ? algorithm(it) : word == "collective" ? collective(it) : function(it);
      // A faulty head does not hide the body: its names are noted, and its `{` is looked for.
      if (!ok && !head_done_) {
        while (!is(kEnd) && !is(kBraceOpen) && !at_item()) advance();
        it.lost = names_since(first);
        it.value = {};
        if (is(kBraceOpen)) ok = block(it.body, "of the item");
      }
      it.sound = it.parsed = sound_;
      it.braces_lost = braces_lost_;
      if (it.name.empty())
        for (std::string_view n : it.lost) file_.lost.push_back(n);
      file_.items.push_back(std::move(it));
      if (!ok) skip_to_item();
      return;
    }
    const Token& t = peek();
    if (t.kind == kBraceClose) {
      fail(diag::kStrayBrace, {t.begin, t.end}, "`}` closes nothing: all blocks before it are closed");
      return advance();
    }
    std::string hint = t.kind == kName ? did_you_mean(text(t), kItemWords, diagnostics_) : std::string();
    if (hint.empty()) hint = "a file is a list of algorithm, collective and function";
    fail(diag::kExpectedItem, {t.begin, t.end}, "expected algorithm, collective or function, found " + seen(t), hint);
    advance();
    skip_to_item();
  }

  bool parameters(Item& it, bool defaults) {
    if (!is(kParenOpen)) return true;
    peek_mutable().tight = true;
    advance();
    while (!is(kParenClose)) {
      Parameter p;
      if (!name(p.name, p.span, "a parameter")) return false;
      if (accept(kAssign)) {
        if (!expression(p.value)) return false;
        if (!defaults)
          return fail(diag::kExpectedName, p.span,
                      "parameter `" + std::string(p.name) + "` has a default: only those of algorithms have one");
      } else if (defaults) {
        fail(diag::kMissingDefault, p.span,
             "parameter `" + std::string(p.name) + "` has no default: an algorithm runs without settings",
             "write `" + std::string(p.name) + " = 1`, say");
      }
      it.parameters.push_back(p);
      if (!accept(kComma)) break;
    }
    return expect(kParenClose, diag::kUnclosedParen, "after the parameters");
  }

  bool algorithm(Item& it) {
    it.kind = Item::Kind::kAlgorithm;
    if (!name(it.name, it.name_span, "an algorithm") || !parameters(it, true)) return false;
    if (!accept_word("implements")) {
      return fail(diag::kExpectedImplements, here(), "expected `implements` and a collective, found " + seen(peek()),
                  "`algorithm " + std::string(it.name) + " implements allreduce { ... }`, for example");
    }
    if (!name(it.contract, it.contract_span, "a collective")) return false;
    if (is(kParenOpen) && !arguments(it.contract_arguments)) return false;
    return block(it.body, "of the algorithm");
  }

  bool collective(Item& it) {
    it.kind = Item::Kind::kCollective;
    return name(it.name, it.name_span, "a collective") && parameters(it, false) && block(it.body, "of the collective");
  }

  bool function(Item& it) {
    it.kind = Item::Kind::kFunction;
    if (!name(it.name, it.name_span, "a function")) return false;
    if (!is(kParenOpen))
      return fail(diag::kUnclosedParen, here(), "expected `(` after the function's name, found " + seen(peek()),
                  "without parameters it is `" + std::string(it.name) + "()`");
    if (!parameters(it, false)) return false;
    if (accept(kAssign)) return expression(it.value);
    if (!is(kBraceOpen))
      return fail(diag::kExpectedEquals, here(),
                  "expected `= value` or a block after the function's parameters, found " + seen(peek()));
    return block(it.body, "of the function");
  }

  // What is not there yet is passed over as a whole, so that the rest of the file is still looked at.
  void pipeline() {
    const Token& t = peek();
    fail(diag::kPipelinesUnavailable, {t.begin, t.end}, "pipelines are not available yet",
         "this version takes algorithms, collectives and functions");
    advance();
    while (!is(kEnd) && !is(kBraceOpen) && !at_item()) advance();
    if (is(kBraceOpen)) skip_block();
  }

  void user_operator() {
    const Token& t = peek();
    fail(diag::kOperatorsUnavailable, {t.begin, t.end}, "operators of one's own are not available yet",
         "`+=` combines with the operator the caller chooses: sum, prod, min, max, avg, ...");
    advance();
    while (!is(kEnd) && !peek().newline_before) advance();
  }

  void skip_block() {
    int depth = 0;
    do {
      if (is(kBraceOpen)) ++depth;
      if (is(kBraceClose)) --depth;
      advance();
    } while (depth > 0 && !is(kEnd) && !at_item());
  }

  // --- statements ---------------------------------------------------------------------------------------------------

  bool block(std::vector<StmtId>& out, const char* of) {
    if (!is(kBraceOpen)) {
      braces_lost_ = true;
      return expect(kBraceOpen, diag::kExpectedBrace, ("before the body " + std::string(of)).c_str());
    }
    head_done_ = true;
    Span open{peek().begin, peek().end};
    if (nesting_ >= kMaxNesting) {
      fail(diag::kNestedTooDeep, open, "blocks nest deeper than " + std::to_string(kMaxNesting) + " levels");
      skip_block();
      return true;
    }
    advance();
    ++nesting_;
    while (!is(kBraceClose)) {
      if (is(kEnd) || at_item()) {
        --nesting_;
        // The block that really lacks its brace took that of a block outside it, which stands further to the left.
        if (misaligned_.end != 0) open = misaligned_;
        if (!lost_brace_)
          fail(diag::kUnclosedBrace, open,
               "`{` " + std::string(of) + " is not closed before " +
                   (is(kEnd) ? "the end of the file" : seen(peek()) + " begins"));
        lost_brace_ = braces_lost_ = true;
        return false;
      }
      if (accept(kSemicolon)) continue;
      size_t before = at_;
      Stmt s;
      bool ok = statement(s);
      // What has a body has a whole head, whatever is missing behind: the body's brace, or an `else`.
      if (ok || lost_brace_ || !s.body.empty()) keep(std::move(s), out);
      if (lost_brace_) {
        --nesting_;
        return false;
      }
      if (ok) {
        before = at_;
        if (separator()) continue;
      }
      synchronize(before);
      keep_faulty(before, out);
    }
    --nesting_;
    if (peek().newline_before && misaligned_.end == 0 && indentation(peek().begin) < indentation(open.begin))
      misaligned_ = open;
    advance();
    return true;
  }

  void keep(Stmt s, std::vector<StmtId>& out) {
    file_.stmts.push_back(std::move(s));
    out.push_back(StmtId(static_cast<uint32_t>(file_.stmts.size() - 1)));
  }

  void keep_faulty(size_t first, std::vector<StmtId>& out) {
    Stmt s;
    s.kind = Stmt::Kind::kFaulty;
    s.span = {tokens_[first].begin, last_end()};
    s.lost = names_since(first);
    keep(std::move(s), out);
  }

  // Of the line of this place.
  uint32_t indentation(uint32_t offset) const {
    std::string_view all = source_.text();
    size_t line = offset == 0 ? 0 : all.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
    size_t first = all.find_first_not_of(" \t", line);
    return static_cast<uint32_t>(std::min<size_t>(first, offset) - line);
  }

  bool separator() {
    const Token& t = peek();
    if (t.newline_before || t.kind == kBraceClose || t.kind == kSemicolon || t.kind == kEnd) return true;
    if (at_ > 0 && tokens_[at_ - 1].kind == kBraceClose) return true;
    return fail(diag::kMissingSeparator, {t.begin, t.end},
                "expected the end of the statement, found " + seen(t) + ": statements on one line are divided by `;`");
  }

  // To the next statement: behind a `;`, at the `}` of this block, or at a line's first token that can begin one.
  void synchronize(size_t began) {
    int depth = 0;
    while (!is(kEnd)) {
      if (at_item()) return;
      const Token& t = peek();
      if (depth == 0) {
        if (t.kind == kBraceClose) return;
        if (t.kind == kSemicolon) return advance();
        if (t.newline_before && at_ > began && t.kind == kName) return;
      }
      if (t.kind == kBraceOpen) ++depth;
      if (t.kind == kBraceClose) --depth;
      advance();
    }
  }

  bool statement(Stmt& s) {
    const Token& t = peek();
    s.span = {t.begin, t.end};
    bool ok = statement_of(s);
    if (s.span.end <= t.end) s.span.end = std::max(last_end(), s.span.begin);
    return ok;
  }

  bool statement_of(Stmt& s) {
    const Token& t = peek();
    if (t.kind != kName) {
      return fail(diag::kExpectedStatement, {t.begin, t.end}, "expected a statement, found " + seen(t));
    }
    std::string_view word = text(t);
    if (is(kBracketOpen, 1) && word != "tmp") return transfer(s);
    if (word == "tmp") return declare_tmp(s);
    if (word == "let") return let(s);
    if (word == "for") return loop(s);
    if (word == "if") return condition(s);
    if (word == "require") return require(s);
    if (word == "ensure") return ensure(s);
    if (word == "chunks") return chunks(s);
    if (word == "return" || word == "instances") {
      s.kind = word == "return" ? Stmt::Kind::kReturn : Stmt::Kind::kInstances;
      advance();
      return expression(s.value);
    }
    if (word == "else") {
      return fail(diag::kElseWithoutIf, {t.begin, t.end}, "`else` follows no `if` block");
    }
    if (at_hint()) {
      s.kind = Stmt::Kind::kHintLine;
      while (at_hint() && (s.hints.empty() || !peek().newline_before))
        if (!hint(s)) return false;
      return true;
    }
    std::string w(word);
    if (is(kAssign, 1) || is(kAddAssign, 1)) {
      return fail(diag::kNameIsFixed, {t.begin, t.end},
                  "`" + w + "` cannot be assigned to: names never change their value",
                  is_reserved(word) ? "a place is written `" + w + "[rank][chunk]`"
                                    : "`let " + w + " = ...` makes a new name in its block");
    }
    return fail(diag::kExpectedStatement, {t.begin, t.end}, "expected a statement, found " + seen(t),
                did_you_mean(word, kStatementWords, diagnostics_));
  }

  bool transfer(Stmt& s) {
    s.kind = Stmt::Kind::kTransfer;
    if (!access(s)) return false;
    if (is(kEqual)) {
      return fail(diag::kExpectedAssignment, {peek().begin, peek().end}, "`==` compares; a copy is written with `=`");
    }
    if (accept(kAddAssign)) {
      s.accumulates = true;
    } else if (!accept(kAssign)) {
      return fail(diag::kExpectedAssignment, here(), "expected `=` or `+=` after the place, found " + seen(peek()));
    }
    if (!sources(s)) return false;
    while (at_hint() && !peek().newline_before)
      if (!hint(s)) return false;
    return true;
  }

  // place or reduce(place, ...)
  bool sources(Stmt& s) {
    if (is_word("reduce") && is(kParenOpen, 1)) {
      s.reduces = true;
      advance();
      peek_mutable().tight = true;
      advance();
      if (is(kParenClose)) {
        return fail(diag::kExpectedSource, {peek().begin, peek().end}, "reduce() of nothing: list at least one place");
      }
      do {
        if (!source(s)) return false;
      } while (accept(kComma));
      return expect(kParenClose, diag::kUnclosedParen, "after the places of reduce(");
    }
    return source(s);
  }

  bool source(Stmt& s) {
    if (is(kName) && is(kBracketOpen, 1)) return access(s) && !arithmetic(s.accesses.back());
    if (is(kName) && is_reserved(text(peek()))) {
      advance();
      return expect(kBracketOpen, diag::kExpectedIndex, "after the buffer: a place is `buf[rank][chunk]`");
    }
    return fail(diag::kExpectedSource, here(),
                "expected a place such as `buf[r][c]`, or `reduce(...)` of places, found " + seen(peek()),
                "statements move data; numbers are only used to say which");
  }

  // On data: also on the next line, since no statement begins with an operator.
  bool arithmetic(const Access& a) {
    const Token& t = peek();
    if (level(t.kind).precedence == 0) return false;
    fail(diag::kDataArithmetic, {t.begin, t.end},
         seen(t) + " stands behind data: expressions are for numbers, such as ranks and chunks",
         "data are combined with `+=` or `reduce(a, b)`: `reduce(" + std::string(file_.text(a.span)) +
             ", ...)`, by the collective's operator");
    return true;
  }

  bool access(Stmt& s) {
    Access a;
    const Token& t = peek();
    a.buffer = text(t);
    a.buffer_span = {t.begin, t.end};
    advance();
    if (!index(a.rank)) return false;
    if (!is(kBracketOpen) || peek().newline_before) {
      return fail(diag::kExpectedIndex, {t.begin, last_end()},
                  "`" + std::string(file_.text({t.begin, last_end()})) + "` has one index: a place is `" +
                      std::string(a.buffer) + "[rank][chunk]`");
    }
    if (!index(a.chunk)) return false;
    a.span = {t.begin, last_end()};
    s.accesses.push_back(a);
    return true;
  }

  bool index(Index& i) {
    uint32_t begin = peek().begin;
    advance();  // [
    // `all` is only a word in this one place, and only if no variable has that name: the checker decides.
    if (!expression(i.first)) return false;
    if (accept(kRange) && !expression(i.last)) return false;
    if (!expect(kBracketClose, diag::kUnclosedBracket, "after the index")) return false;
    i.span = {begin, last_end()};
    return true;
  }

  bool declare_tmp(Stmt& s) {
    s.kind = Stmt::Kind::kTmp;
    advance();
    if (!name(s.name, s.name_span, "a scratch buffer")) return false;
    if (!is(kBracketOpen))
      return fail(diag::kExpectedIndex, here(),
                  "expected `[places]` after the scratch buffer's name, found " + seen(peek()),
                  "`tmp " + std::string(s.name) + "[ranks]`, for example");
    advance();
    return expression(s.value) && expect(kBracketClose, diag::kUnclosedBracket, "after the number of places");
  }

  bool let(Stmt& s) {
    s.kind = Stmt::Kind::kLet;
    advance();
    if (!name(s.name, s.name_span, "a variable")) return false;
    return expect(kAssign, diag::kExpectedEquals, "after the variable's name") && expression(s.value);
  }

  bool loop(Stmt& s) {
    s.kind = Stmt::Kind::kFor;
    if ((is_word("ring", 1) || is_word("tree", 1)) && is(kName, 2) && !is_word("in", 2)) {
      fail(diag::kRingsUnavailable, {peek().begin, peek(2).end},
           "loops over the machine's rings and trees are not available yet",
           "write the order of the ranks yourself: `for i in 0 ..< ranks`");
      while (!is(kEnd) && !is(kBraceOpen) && !at_item()) advance();
      if (is(kBraceOpen)) skip_block();
      return false;
    }
    advance();
    do {
      Iterator i;
      if (!name(i.name, i.name_span, "a loop variable")) return false;
      if (!accept_word("in"))
        return fail(diag::kExpectedIn, here(), "expected `in` after the loop variable, found " + seen(peek()));
      if (!expression(i.first)) return false;
      if (!accept(kRange)) {
        return fail(diag::kExpectedRange, here(), "expected `..<` and the end of the range, found " + seen(peek()),
                    "`for " + std::string(i.name) + " in 0 ..< n` runs from 0 to n - 1");
      }
      if (!expression(i.last)) return false;
      if (accept_word("step") && !expression(i.step)) return false;
      s.iterators.push_back(i);
    } while (accept(kComma));
    s.span.end = last_end();
    return block(s.body, "of the loop");
  }

  bool condition(Stmt& s) {
    s.kind = Stmt::Kind::kIf;
    advance();
    if (!expression(s.value)) return false;
    s.span.end = last_end();
    if (!block(s.body, "of the condition")) return false;
    if (!accept_word("else")) return true;
    if (!is_word("if")) return block(s.otherwise, "of `else`");
    if (nesting_ >= kMaxNesting) {
      return fail(diag::kNestedTooDeep, {peek().begin, peek().end},
                  "more than " + std::to_string(kMaxNesting) + " `else if` in a row");
    }
    Stmt inner;
    ++nesting_;
    bool ok = statement(inner);
    --nesting_;
    if (ok || lost_brace_ || !inner.body.empty()) keep(std::move(inner), s.otherwise);
    return ok;
  }

  bool require(Stmt& s) {
    s.kind = Stmt::Kind::kRequire;
    advance();
    if (!expression(s.value)) return false;
    if (!accept(kComma) || !is(kString)) {
      return fail(diag::kMissingMessage, here(), "`require` lacks its sentence: who fails it is told why",
                  "`require condition, \"works for powers of two only\"`, for example");
    }
    const Token& t = peek();
    std::string_view quoted = text(t);
    quoted.remove_prefix(1);
    if (!quoted.empty() && quoted.back() == '"') quoted.remove_suffix(1);
    s.message = quoted;
    advance();
    return true;
  }

  bool ensure(Stmt& s) {
    s.kind = Stmt::Kind::kEnsure;
    advance();
    const char* kForm = "a promise is `ensure out[r][c] == in[..][..]`, `== reduce(in[all][c])` or `== any`";
    if (!is(kName) || !is(kBracketOpen, 1))
      return fail(diag::kExpectedPromise, here(), "expected a place of `out` after `ensure`, found " + seen(peek()),
                  kForm);
    if (!access(s)) return false;
    if (!accept(kEqual)) {
      return fail(diag::kExpectedPromise, here(), "expected `==` after the place, found " + seen(peek()), kForm);
    }
    if (is_word("any") && !is(kBracketOpen, 1)) {
      advance();
      return true;
    }
    return sources(s);
  }

  bool chunks(Stmt& s) {
    s.kind = Stmt::Kind::kChunks;
    Span word{peek().begin, peek().end};
    advance();
    if (!is_word("in")) return expression(s.value);
    advance();
    if (!expression(s.value)) return false;
    if (!accept(kComma) || !accept_word("out")) {
      return fail(diag::kChunksForm, word, "a collective says the blocks of both sides: `chunks in A, out B`");
    }
    return expression(s.second);
  }

  bool at_hint() const {
    if (!is(kName) || is(kBracketOpen, 1)) return false;
    std::string_view w = text(peek());
    if (w == "on") return is(kName, 1);
    return (w == "protocol" || w == "via" || w == "wire") && !is(kAssign, 1) && !is(kAddAssign, 1);
  }

  bool hint(Stmt& s) {
    HintItem h;
    uint32_t begin = peek().begin;
    std::string_view word = text(peek());
    advance();
    if (word == "on") {
      std::string w(text(peek()));
      if (w != "channel" && w != "lane") {
        return fail(diag::kUnknownHint, {begin, peek().end}, "unknown hint `on " + w + "`: it is on channel or on lane",
                    did_you_mean(w, {"channel", "lane"}, diagnostics_));
      }
      h.kind = w == "lane" ? HintItem::Kind::kLane : HintItem::Kind::kChannel;
      advance();
      if (!expression(h.value)) return false;
    } else {
      h.kind = word == "protocol" ? HintItem::Kind::kProtocol
               : word == "via"    ? HintItem::Kind::kVia
                                  : HintItem::Kind::kWire;
      Span span;
      if (!name(h.word, span, word == "protocol" ? "a protocol" : word == "via" ? "a link class" : "a type"))
        return false;
    }
    h.span = {begin, last_end()};
    s.hints.push_back(h);
    return true;
  }

  int nesting_ = 0;
  bool lost_brace_ = false;   // a `}` was missing; told once
  bool braces_lost_ = false;  // some brace of this item was missing
  bool head_done_ = false;    // the body of this item began
  Span misaligned_;           // first `{` of this item whose `}` stands left of it, if any
};

}  // namespace

File parse_tokens(const SourceFile& source, Tokens& tokens, Diagnostics& diagnostics) {
  return Parser(source, tokens, diagnostics).run();
}

}  // namespace coll::dsl
