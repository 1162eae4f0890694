// A thread shows the line, because the work it tells of (a proof, a pass) is one call that does not come back to ask.
// It exists only where there is a terminal to show it on. Words that the work leaves here are shown when their time has
// come; between two of them nothing is shown, so that the work may print.
#include "frontend/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace coll {

namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kRefresh{250};

class Line {
 public:
  Line() {
    if (isatty(STDERR_FILENO) == 0) return;
    try {
      thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {
      // No thread to be had: the work matters more than telling of it.
    }
  }
  ~Line() {
    if (!thread_.joinable()) return;
    set({});
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void set(std::string what) {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      what_ = std::move(what);
      if (what_.empty()) erase();
    }
    changed_.notify_one();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Both hold the lock while they write: nothing of the line comes after its erasure.
  void erase() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }
  void draw() {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_).count();
    std::string text = fmt::format("collc: {} ({} s)", what_, seconds);
    winsize size{};
    size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
    if (text.size() > width) text.resize(width);  // a line that wraps could not be rewritten
    std::fputs(("\r" + text + "\033[K").c_str(), stderr);
    std::fflush(stderr);
    shown_ = true;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return ended_; });
    while (!ended_) {
      try {
        if (!what_.empty()) draw();
      } catch (const std::bad_alloc&) {
        // The work will find out for itself, and say so.
      }
      changed_.wait_for(lock, kRefresh, [this] { return ended_; });
    }
  }

  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool shown_ = false, ended_ = false;
  std::thread thread_;
};

Line& line() {
  static Line the_line;
  return the_line;
}

}  // namespace

void show_progress(const std::string& what) { line().set(what); }

void clear_progress() { line().set({}); }

}  // namespace coll
