// Loads a saved plan, proves it and runs it. Links the runtime alone: there is no compiler in this program.
#include <coll/plan.h>
#include <coll/run.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_plan FILE\n");
    return 2;
  }
  const collc::Result<collc::Plan> plan = collc::Plan::load(argv[1]);
  if (!plan.ok()) {
    std::fprintf(stderr, "run_plan: %s\n", plan.status().message().c_str());
    return 2;
  }
  collc::Result<collc::Runner> runner = collc::Runner::create(*plan);
  if (!runner.ok()) {
    std::fprintf(stderr, "run_plan: %s\n", runner.status().message().c_str());
    return 1;
  }

  const uint64_t count = 12345;
  std::vector<std::vector<int>> in(plan->ranks()), out(plan->ranks());
  std::vector<collc::Buffers> buffers(plan->ranks());
  for (uint32_t r = 0; r < plan->ranks(); ++r) {
    in[r].assign(plan->in_elements(r, count), static_cast<int>(r) + 1);
    out[r].assign(plan->out_elements(r, count), -1);
    buffers[r] = {in[r].data(), out[r].data()};
  }
  collc::Call call;
  call.count = count;
  call.dtype = collc::DType::kI32;
  call.op = collc::RedOp::kMax;
  if (const collc::Status status = runner->run(call, buffers); !status.ok()) {
    std::fprintf(stderr, "run_plan: %s\n", status.message().c_str());
    return 3;
  }
  std::printf("%s (%s): the greatest rank plus one is %d\n", plan->name().c_str(), plan->collective().c_str(),
              out[0][0]);
  return out[0][0] == static_cast<int>(plan->ranks()) && out[0] == out[plan->ranks() - 1] ? 0 : 1;
}
