#pragma once
// What goes wrong while a verb works, sorted by whose fault it is, and the exit status that follows from it.
//
// With --json a verb prints one object whatever happens: what it found out, and of faults `diagnostics` (of the input
// or the usage) and `error` (of the machine). People read the same on standard error.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/support/diagnostic.h"
#include "ir/support/status.h"

namespace coll {

// Exit statuses, the same for every verb.
inline constexpr int kExitRight = 0;
inline constexpr int kExitNo = 1;        // the answer is no: wrong result, plan refused, file not formatted
inline constexpr int kExitBadInput = 2;  // the input or the usage is bad
inline constexpr int kExitMachine = 3;   // the machine failed: a file, memory, a peer, a time-out

using Json = nlohmann::ordered_json;  // keys in the order in which they are put in

class Report {
 public:
  Diagnostics diagnostics;

  // A fault of the machine; kInvalid ones are the caller's arguments and count as bad input.
  void fail(Status status) { failures_.push_back(std::move(status)); }
  bool ok() const { return !diagnostics.has_errors() && failures_.empty(); }

  // Writes everything to standard error, in colour on a terminal, and returns the exit status. Warnings alone are
  // right.
  int finish() const;
  // The same; with `json`, prints `object` and the faults on standard output as well.
  int finish(bool json, Json object) const;

  // Adds `diagnostics` and `error`, where there are any.
  void add_to(Json& object) const;

 private:
  std::vector<Status> failures_;
};

// One object or list, and a newline. What is no UTF-8 (a file's name, say) is replaced.
void print_json(const Json&);

// A fault that ends the program outside of any verb, in the form of `error`.
Json error_json(StatusCode, const std::string& message);

// True if the stream is a terminal that wants colours (NO_COLOR unset).
bool wants_colour(int file_descriptor);

// `text` in bold red / bold green when the stream wants colours.
std::string red(const std::string& text, int file_descriptor);
std::string green(const std::string& text, int file_descriptor);

}  // namespace coll
