#include "tests/fuzz/fuzz_driver.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

namespace coll {

namespace {

constexpr size_t kLongestInput = 64 * 1024;
constexpr unsigned kSecondsPerInput = 10;  // generous: the machine is shared, and a hang is for ever
constexpr size_t kPool = 400;

struct Input {
  std::string name, text;
};

// What the child tells its parent.
struct Shared {
  uint64_t runs, accepted;
  uint32_t name_length, text_length, failure_length;
  char name[256];
  char text[kLongestInput];
  char failure[4096];
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Mutator {
 public:
  Mutator(uint64_t seed, const std::vector<Input>& pool) : engine_(seed), pool_(pool), seeds_(pool.size()) {}

  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(engine_() % n); }

  Input next() {
    // Half of the time from a seed: accepted mutants tend to be short, and a pool of them alone decays.
    Input input = pool_[below(below(2) == 0 ? seeds_ : pool_.size())];
    for (size_t times = 1 + below(4); times > 0; --times) {
      switch (below(3)) {
        case 0:
          bytes(input.text);
          break;
        case 1:
          tokens(input.text);
          break;
        default:
          lines(input.text);
          break;
      }
    }
    if (input.text.size() > kLongestInput) input.text.resize(kLongestInput);
    return input;
  }

 private:
  using Range = std::pair<size_t, size_t>;  // begin, end

  void bytes(std::string& s) {
    size_t at = below(s.size() + 1), length = std::min(s.size() - at, 1 + below(8));
    switch (below(4)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(engine_());
        break;
      case 1:
        s.insert(at, 1, static_cast<char>(engine_()));
        break;
      case 2:
        s.erase(at, length);
        break;
      default:
        s.insert(at, s.substr(at, length));
        break;
    }
  }

  // A run of letters and digits, or one other character, not a space, near a random place.
  Range token(const std::string& s) {
    auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    size_t begin = below(s.size());
    while (begin < s.size() && std::isspace(static_cast<unsigned char>(s[begin]))) ++begin;
    if (begin == s.size()) return {begin, begin};
    size_t end = begin + 1;
    if (is_word(s[begin])) {
      while (begin > 0 && is_word(s[begin - 1])) --begin;
      while (end < s.size() && is_word(s[end])) ++end;
    }
    return {begin, end};
  }

  void tokens(std::string& s) {
    static const char* const kOdd[] = {"0",
                                       "1",
                                       "2",
                                       "3",
                                       "7",
                                       "65536",
                                       "-1",
                                       "2147483648",
                                       "4294967295",
                                       "4294967296",
                                       "1048576",
                                       "18446744073709551615",
                                       "99999999999999999999",
                                       "\"",
                                       "#",
                                       "@",
                                       "->"};
    auto [begin, end] = token(s);
    switch (below(4)) {
      case 0:
        s.replace(begin, end - begin, kOdd[below(std::size(kOdd))]);
        break;
      case 1:
        s.erase(begin, end - begin);
        break;
      default: {  // a word of some input
        const std::string& other = pool_[below(pool_.size())].text;
        auto [from, to] = token(other);
        s.replace(begin, end - begin, other.substr(from, to - from));
      }
    }
  }

  Range line(const std::string& s) {
    size_t at = below(s.size() + 1);
    size_t begin = at == 0 ? 0 : s.rfind('\n', at - 1);
    begin = at == 0 || begin == std::string::npos ? 0 : begin + 1;
    size_t end = s.find('\n', begin);
    return {begin, end == std::string::npos ? s.size() : end + 1};
  }

  void lines(std::string& s) {
    auto [begin, end] = line(s);
    std::string text = s.substr(begin, end - begin);
    switch (below(4)) {
      case 0:
        s.erase(begin, end - begin);
        break;
      case 1:
        s.insert(end, text);
        break;
      case 2: {  // move
        s.erase(begin, end - begin);
        s.insert(line(s).first, text);
        break;
      }
      default: {  // a line of some input
        const std::string& other = pool_[below(pool_.size())].text;
        auto [from, to] = line(other);
        s.insert(begin, other.substr(from, to - from));
      }
    }
  }

  std::mt19937_64 engine_;
  const std::vector<Input>& pool_;
  size_t seeds_;
};

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{4ull << 30, 4ull << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

// Runs the check in this process; leaves it with status 1 when the check is not content.
void run_one(Shared* shared, FuzzCheck check, const Input& input, bool* accepted) {
  shared->text_length = static_cast<uint32_t>(input.text.size());
  std::memcpy(shared->text, input.text.data(), input.text.size());
  shared->name_length = static_cast<uint32_t>(std::min(input.name.size(), sizeof shared->name));
  std::memcpy(shared->name, input.name.data(), shared->name_length);
  shared->failure_length = 0;
  alarm(kSecondsPerInput);
  FuzzOutcome outcome = check(input.name, input.text);
  alarm(0);
  ++shared->runs;
  shared->accepted += outcome.accepted;
  *accepted = outcome.accepted;
  if (outcome.failure.empty()) return;
  shared->failure_length = static_cast<uint32_t>(std::min(outcome.failure.size(), sizeof shared->failure));
  std::memcpy(shared->failure, outcome.failure.data(), shared->failure_length);
  std::_Exit(1);
}

// Waits for a child: empty when it was content.
std::string outcome_of(pid_t child, const Shared* shared) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (shared->failure_length > 0) return {shared->failure, shared->failure_length};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return "no answer within " + std::to_string(kSecondsPerInput) + " s";
  if (WIFSIGNALED(status)) return std::string("died of ") + strsignal(WTERMSIG(status));
  return "left with status " + std::to_string(WEXITSTATUS(status));
}

std::string fails(Shared* shared, FuzzCheck check, const Input& input) {
  shared->failure_length = 0;
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    limit_memory();
    if (std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(3);
    bool accepted = false;
    run_one(shared, check, input, &accepted);
    std::_Exit(0);
  }
  return outcome_of(child, shared);
}

// Drops ever smaller pieces, lines first, as long as the check still fails; half a minute at most.
Input shrink(Shared* shared, FuzzCheck check, Input input) {
  double until = now() + 30;
  for (size_t piece = std::max<size_t>(1, input.text.size() / 2); piece >= 1; piece /= 2) {
    for (size_t at = 0; at < input.text.size() && now() < until;) {
      Input smaller = input;
      smaller.text.erase(at, piece);
      if (fails(shared, check, smaller).empty()) {
        at += piece;
      } else {
        input = smaller;
      }
    }
  }
  return input;
}

}  // namespace

int fuzz_main(int argc, char** argv, FuzzCheck check) {
  double seconds = 10;
  uint64_t seed = 1;
  std::vector<Input> seeds;
  for (int a = 1; a < argc; ++a) {
    std::string word = argv[a];
    if (word == "--seconds" && a + 1 < argc) {
      seconds = std::atof(argv[++a]);
    } else if (word == "--seed" && a + 1 < argc) {
      seed = std::strtoull(argv[++a], nullptr, 10);
    } else {
      std::ifstream in(word, std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      if (!in) {
        std::fprintf(stderr, "%s: cannot read %s\n", argv[0], word.c_str());
        return 2;
      }
      seeds.push_back({std::filesystem::path(word).filename().string(), text.str().substr(0, kLongestInput)});
    }
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [--seconds N] [--seed S] FILE...\n", argv[0]);
    return 2;
  }
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 2;
  }
  auto* shared = static_cast<Shared*>(memory);

  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    limit_memory();
    std::vector<Input> pool = seeds;
    bool accepted = false;
    for (const Input& input : seeds) run_one(shared, check, input, &accepted);
    Mutator mutator(seed, pool);
    for (double until = now() + seconds; now() < until;) {
      Input input = mutator.next();
      run_one(shared, check, input, &accepted);
      // Accepted mutants are mutated further: the way past the first line that is refused.
      if (!accepted) continue;
      if (pool.size() < seeds.size() + kPool) {
        pool.push_back(std::move(input));
      } else {
        pool[seeds.size() + mutator.below(kPool)] = std::move(input);
      }
    }
    std::_Exit(0);
  }
  std::string failure = outcome_of(child, shared);
  if (failure.empty()) {
    std::printf("%llu inputs, %llu accepted, nothing found\n", static_cast<unsigned long long>(shared->runs),
                static_cast<unsigned long long>(shared->accepted));
    // A fuzzer that accepts nothing, or all, tests nothing.
    return shared->accepted > 0 && shared->accepted < shared->runs ? 0 : 1;
  }
  Input found{std::string(shared->name, shared->name_length), std::string(shared->text, shared->text_length)};
  found = shrink(shared, check, std::move(found));
  std::string path = std::string(argv[0]) + ".found." + found.name;
  std::ofstream(path, std::ios::binary) << found.text;
  std::printf("%s\nafter %llu inputs; reproducer (%zu bytes): %s\n", failure.c_str(),
              static_cast<unsigned long long>(shared->runs), found.text.size(), path.c_str());
  return 1;
}

}  // namespace coll
