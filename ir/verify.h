#pragma once
// The verifier: judges the final Plan, for every size and every interleaving. It shares nothing with the lowering.
// What is checked, and why one symbolic execution speaks for all sizes and orders, is in the head of verify.cpp.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/plan.h"

namespace coll {

enum class Verdict : uint8_t { kProved, kRefused, kCannotBeJudged };

// Why a plan was refused. Each has a test that earns it.
enum class Fault : uint8_t {
  kNone,
  kMalformed,         // an id, lane, operand or place that does not exist; out of bounds
  kWritesIn,          // `in` is a destination
  kConnectionShared,  // more than one sending or receiving lane            -> cannot be judged
  kCounterShared,     // more than one signalling or waiting lane           -> cannot be judged
  kUnbalanced,        // messages or signals left over at the end of a call
  kMessageMismatch,   // sender and receiver disagree on a message's extent
  kDeadlock,
  kRace,
  kUnwritten,        // read of data that nobody wrote in this call
  kWrong,            // a wrong chunk: other contributions than promised
  kMissing,          // a chunk lacks a contribution
  kDuplicated,       // a contribution counted more than once
  kDoesNotFit,       // a part moved into a place that is too short for some count
  kInPlace,          // right out of place, wrong in place
  kAccessAfterExit,  // a direct access may touch a user buffer outside its owner's call
  kLimit,            // a target's limit is exceeded
};
const char* name(Fault);

struct TargetLimits {
  std::string name;  // "" = none
  uint32_t max_lanes_per_rank = UINT32_MAX;
  uint32_t max_channels = UINT32_MAX;
  uint32_t max_steps_per_lane = UINT32_MAX;
  uint32_t max_peers_per_lane = UINT32_MAX;  // to send to, and likewise to receive from
  uint32_t max_scratch_places = UINT32_MAX;
};

struct VerifyOptions {
  uint32_t slots = 8;  // k: message slots per connection for the deadlock check
  uint32_t calls = 3;  // calls in a row, no barrier between
  TargetLimits limits;
  bool find_least_slots = true;
  enum class Contents : uint8_t { kAuto, kExact, kFingerprint } contents = Contents::kAuto;
};

// The smallest story of a refusal. `lines` are complete sentences for a person, each naming rank, lane, step, source
// line and what was waited for; `rank`..`step` is where it shows first.
struct Story {
  Fault fault = Fault::kNone;
  uint32_t rank = 0, lane = 0, step = 0;  // lane within the rank; kNone-like 0xffffffff when it is not about one
  std::string line;                       // source line, "ring.coll:6", or empty
  std::vector<std::string> lines;
};

struct VerifyResult {
  Verdict verdict = Verdict::kRefused;
  Story story;               // when not proved
  uint32_t least_slots = 0;  // least k with which it runs (proved plans, find_least_slots)
  bool exact = false;        // contents kept as exact structures (else 128-bit sums)
  bool bits_shared = false;  // two ranks at least must hold the same: there is something to compare
  bool bits_equal = false;   // outputs that must be equal have equal reduction trees on all ranks
  std::string bits_note;     // why not, when they differ: "rank 0 and rank 1 sum out[0] in different orders"
  // A rank reads a peer's `in` itself (get, in-switch reduction). premul scales by the factor of the owner of `in`
  // where it is first read, so the reader needs that factor; a back end that has only the rank's own must refuse
  // premul.
  bool peers_read_in = false;
  uint64_t instructions = 0;
  bool ok() const { return verdict == Verdict::kProved; }
};

VerifyResult verify(const Plan&, const VerifyOptions& = {});

// For people: "proved: ..." or "refused: ..." with the story, a line each.
std::string render(const VerifyResult&);

}  // namespace coll
