// Compiles a collective from text, looks at it, proves it, runs it on this program's buffers, and saves the plan for
// run_plan.cpp. Errors are values: nothing here throws for what a user, a file or a machine did wrong.
#include <coll/compile.h>
#include <coll/run.h>

#include <cstdio>
#include <vector>

// Everybody's vector is added up on rank 0, which hands the sum out: two statements for each other rank.
const char* const kProgram = R"(
algorithm star implements allreduce {
  chunks 1
  for r in 1 ..< ranks { buf[0][0] += buf[r][0] }
  for r in 1 ..< ranks { buf[r][0] = buf[0][0] }
}
)";

// The same with a mistake: rank 1 is left out of the sum.
const char* const kWrongProgram = R"(
algorithm star implements allreduce {
  chunks 1
  for r in 2 ..< ranks { buf[0][0] += buf[r][0] }
  for r in 1 ..< ranks { buf[r][0] = buf[0][0] }
}
)";

int fail(const collc::Status& status) {
  std::fprintf(stderr, "embed: %s\n", status.message().c_str());
  return 1;
}

int main() {
  constexpr uint32_t kRanks = 4;
  constexpr uint64_t kCount = 1000;
  collc::CompileOptions options;
  options.ranks = kRanks;

  // A program that is not right never becomes a plan; the story of its failure is the error's message.
  const collc::Result<collc::Plan> refused = collc::compile_text(kWrongProgram, "wrong.coll", options);
  if (refused.ok() || refused.status().code() != collc::Code::kRefused) {
    std::fprintf(stderr, "embed: the wrong program was not refused\n");
    return 1;
  }
  std::printf("the wrong program: %s\n", refused.status().message().c_str());

  const collc::Result<collc::Plan> plan = collc::compile_text(kProgram, "star.coll", options);
  if (!plan.ok()) return fail(plan.status());
  std::printf("%s on %u ranks: %llu instructions, %u lanes per rank, %u message slots needed\n", plan->name().c_str(),
              plan->ranks(), static_cast<unsigned long long>(plan->instructions()), plan->lanes_per_rank_max(),
              plan->slots_needed());
  std::printf("%s\n", plan->verify().text.c_str());

  collc::Result<collc::Runner> runner = collc::Runner::create(*plan);
  if (!runner.ok()) return fail(runner.status());
  std::vector<std::vector<float>> in(kRanks), out(kRanks);
  std::vector<collc::Buffers> buffers(kRanks);
  for (uint32_t r = 0; r < kRanks; ++r) {
    in[r].assign(plan->in_elements(r, kCount), 1.0f + static_cast<float>(r));
    out[r].assign(plan->out_elements(r, kCount), -1.0f);
    buffers[r] = {in[r].data(), out[r].data()};
  }
  collc::Call call;
  call.count = kCount;
  call.dtype = collc::DType::kF32;
  call.op = collc::RedOp::kSum;
  if (const collc::Status status = runner->run(call, buffers); !status.ok()) return fail(status);

  for (const std::vector<float>& result : out) {
    for (const float x : result) {
      if (x != 1 + 2 + 3 + 4) {
        std::fprintf(stderr, "embed: got %g instead of 10\n", x);
        return 1;
      }
    }
  }
  std::printf("every element on every rank is 10\n");

  if (const collc::Status status = plan->save("star.plan"); !status.ok()) return fail(status);
  return 0;
}
