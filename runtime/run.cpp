#include "coll/run.h"

#include "ir/verify.h"
#include "runtime/cpu/executor.h"
#include "runtime/plan_handle.h"

namespace collc {

namespace {

Status to_public(const coll::Status& s) {
  switch (s.code()) {
    case coll::StatusCode::kOk:
      return {};
    case coll::StatusCode::kInvalid:
      return {Code::kInvalid, s.message()};
    case coll::StatusCode::kTimeout:
      return {Code::kTimeout, s.message()};
    case coll::StatusCode::kUnavailable:
      return {Code::kUnavailable, s.message()};
    case coll::StatusCode::kFile:
      return {Code::kFile, s.message()};
    case coll::StatusCode::kAborted:
      return {Code::kAborted, s.message()};
  }
  return {Code::kInvalid, s.message()};
}

}  // namespace

struct Runner::State {
  std::shared_ptr<const coll::Plan> plan;
  std::unique_ptr<coll::Executor> executor;
  uint64_t slot_bytes = 0;
};

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::create(const Plan& plan, const RunnerOptions& options) {
  VerifyOptions check;
  check.slots = options.slots;
  Verification verdict = plan.verify(check);
  if (!verdict.proved) return Status(Code::kRefused, verdict.text);
  auto state = std::make_unique<State>();
  state->plan = plan.impl().plan;
  coll::ExecutorOptions how;
  how.slots = options.slots;
  if (options.slot_bytes != 0) how.slot_bytes = options.slot_bytes;
  how.timeout = options.timeout;
  state->slot_bytes = how.slot_bytes;
  state->executor = std::make_unique<coll::Executor>(state->plan, how);
  return Runner(std::move(state));
}

Status Runner::run(const Call& call, const std::vector<Buffers>& buffers) {
  const coll::Plan& plan = *state_->plan;
  if (buffers.size() != plan.ranks()) {
    return {Code::kInvalid, "the plan has " + std::to_string(plan.ranks()) + " ranks, but buffers of " +
                                std::to_string(buffers.size()) + " were given"};
  }
  coll::CallSpec spec;
  spec.sizes.count = call.count;
  spec.sizes.dtype = static_cast<coll::DType>(call.dtype);
  spec.sizes.counts = call.counts;
  spec.op = static_cast<coll::RedOp>(call.op);
  spec.premul = call.premul;
  spec.slot_bytes = state_->slot_bytes;
  std::vector<coll::RankBuffers> ranks;
  for (const Buffers& b : buffers) ranks.push_back({b.in, b.out});
  return to_public(state_->executor->run(spec, {ranks}));
}

}  // namespace collc
