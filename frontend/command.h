#pragma once
// What every verb has in common: its row in the table, and how its words are parsed.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace coll {

using Words = std::vector<std::string>;  // what stands after the verb

struct Verb {
  const char* name;
  const char* what;     // one line
  const char* example;  // of `collc --help` and of `collc VERB --help`
  int (*main)(const Verb&, const Words&);
};

// A parser for this verb: usage, what it does, its example.
std::unique_ptr<CLI::App> make_parser(const Verb&);

// Whether `--json` is among the words: also what cannot be parsed is told in the form that was asked for.
bool wants_json(const Words&);

// Parses; an exit status when nothing is left to do (--help, or bad usage that has been reported).
std::optional<int> parse_words(CLI::App&, const Words&);

int verb_run(const Verb&, const Words&);
int verb_compile(const Verb&, const Words&);
int verb_check(const Verb&, const Words&);
int verb_fmt(const Verb&, const Words&);
int verb_opt(const Verb&, const Words&);
int verb_targets(const Verb&, const Words&);
int verb_list(const Verb&, const Words&);

}  // namespace coll
