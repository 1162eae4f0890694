#pragma once
// Errors as values. Nothing in the public interface throws for what a user, a file or a machine did wrong.
#include <optional>
#include <string>
#include <utility>

namespace collc {

enum class Code {
  kOk,
  kProgram,      // the .coll text or the plan text is wrong; the message holds the diagnostics, with places
  kRefused,      // the plan is not right; the message tells the story
  kInvalid,      // the arguments do not fit the plan (a missing buffer, an operator that the type does not have, ...)
  kTimeout,      // a deadline passed; the message names rank, lane, peer, operation and elapsed time
  kUnavailable,  // not in this build or on this machine; the message says why
  kFile,         // a file could not be read or written
  kAborted,      // the runner has failed before and refuses further use
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A value or why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // Only if ok().
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace collc
