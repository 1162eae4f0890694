#pragma once
// Status: what went wrong with the machine (a peer, a device, a file, a time-out), as a value.
// Faults of a program's author are diagnostics (diagnostic.h); faults of ours are checks (check.h).
#include <string>
#include <utility>

namespace coll {

enum class StatusCode {
  kOk,
  kInvalid,      // the caller's arguments do not fit (buffer missing, unknown type for an operator, ...)
  kTimeout,      // a deadline passed; the message names rank, peer, operation and elapsed time
  kUnavailable,  // hardware or a library that is not here; the message says why
  kFile,         // a file could not be read or written
  kAborted,      // another rank failed first
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

}  // namespace coll
