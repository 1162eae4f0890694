#pragma once
// What goes wrong while a verb works, sorted by whose fault it is, and the exit status that follows from it.
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

class Report {
 public:
  Diagnostics diagnostics;

  // A fault of the machine; kInvalid ones are the caller's arguments and count as bad input.
  void fail(Status status) { failures_.push_back(std::move(status)); }
  bool ok() const { return !diagnostics.has_errors() && failures_.empty(); }

  // Writes everything to standard error, in colour on a terminal, and returns the exit status. Warnings alone are
  // right.
  int finish() const;

 private:
  std::vector<Status> failures_;
};

// True if the stream is a terminal that wants colours (NO_COLOR unset).
bool wants_colour(int file_descriptor);

// `text` in bold red / bold green when the stream wants colours.
std::string red(const std::string& text, int file_descriptor);
std::string green(const std::string& text, int file_descriptor);

}  // namespace coll
