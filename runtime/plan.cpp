#include "coll/plan.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "ir/plan_text.h"
#include "ir/verify.h"
#include "runtime/plan_handle.h"

namespace collc {

Result<Plan> Plan::parse(std::string text, const std::string& name) {
  coll::SourceFile file(name, std::move(text));
  coll::Diagnostics diagnostics;
  std::optional<coll::Plan> plan = coll::parse_plan(file, diagnostics);
  if (!plan) return Status(Code::kProgram, diagnostics.render());
  return wrap(std::move(*plan));
}

Result<Plan> Plan::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::kFile, "cannot open " + path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return Status(Code::kFile, "cannot read " + path);
  return parse(std::move(text), path);
}

Status Plan::save(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << text();
  out.close();
  return out ? Status() : Status(Code::kFile, "cannot write " + path);
}

std::string Plan::text() const { return coll::print_plan(*impl_->plan); }
const std::string& Plan::name() const { return impl_->plan->name; }
const std::string& Plan::collective() const { return impl_->plan->contract.name; }
uint32_t Plan::ranks() const { return impl_->plan->ranks(); }
uint64_t Plan::instructions() const { return impl_->plan->instructions.size(); }
uint32_t Plan::slots_needed() const { return impl_->plan->slots_needed; }
bool Plan::may_run_in_place() const { return impl_->plan->inplace; }

uint32_t Plan::lanes_per_rank_max() const {
  uint32_t most = 0;
  for (uint32_t r = 0; r < ranks(); ++r) most = std::max<uint32_t>(most, impl_->plan->lanes_of(r).size());
  return most;
}

uint32_t Plan::channels() const { return impl_->plan->channels_per_pair_max(); }

uint64_t Plan::in_elements(uint32_t rank, uint64_t count) const {
  return rank < ranks() ? impl_->plan->contract.in_blocks(rank) * count : 0;
}

uint64_t Plan::out_elements(uint32_t rank, uint64_t count) const {
  return rank < ranks() ? impl_->plan->contract.out_blocks(rank) * count : 0;
}

Verification Plan::verify(const VerifyOptions& options) const {
  coll::VerifyOptions o;
  o.slots = options.slots;
  o.calls = options.calls;
  coll::VerifyResult r = coll::verify(*impl_->plan, o);
  return {r.ok(), coll::render(r), r.bits_equal && r.bits_shared, r.least_slots};
}

}  // namespace collc
