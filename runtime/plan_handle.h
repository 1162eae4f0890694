#pragma once
// The public collc::Plan and the plan inside it.
#include <memory>

#include "coll/plan.h"
#include "ir/plan.h"

namespace collc {

struct Plan::Impl {
  std::shared_ptr<const coll::Plan> plan;
};

inline Plan wrap(coll::Plan plan) {
  auto impl = std::make_shared<Plan::Impl>();
  impl->plan = std::make_shared<const coll::Plan>(std::move(plan));
  return Plan(std::move(impl));
}

}  // namespace collc
