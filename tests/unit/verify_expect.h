#pragma once
// What tests expect of the verifier's verdicts. Each is asked for both ways of keeping contents.
#include <gtest/gtest.h>

#include <string>

#include "ir/verify.h"
#include "tests/unit/plan_builder.h"

namespace coll::testing {

inline VerifyResult check(const Plan& plan, uint32_t slots = 8) {
  VerifyOptions options;
  options.slots = slots;
  return verify(plan, options);
}

// The verdict is a refusal for this fault, whichever way contents are kept, and the story says something.
inline void expect_refused(const Plan& plan, Fault fault, uint32_t slots = 8) {
  for (auto contents : {VerifyOptions::Contents::kExact, VerifyOptions::Contents::kFingerprint}) {
    VerifyOptions options;
    options.slots = slots;
    options.contents = contents;
    VerifyResult result = verify(plan, options);
    EXPECT_EQ(result.verdict, Verdict::kRefused) << render(result);
    EXPECT_STREQ(name(result.story.fault), name(fault)) << render(result);
    EXPECT_FALSE(result.story.lines.empty());
  }
}

inline void expect_not_judged(const Plan& plan, Fault fault) {
  VerifyResult result = check(plan);
  EXPECT_EQ(result.verdict, Verdict::kCannotBeJudged) << render(result);
  EXPECT_STREQ(name(result.story.fault), name(fault)) << render(result);
}

inline VerifyResult expect_proved(const Plan& plan, uint32_t slots = 8) {
  VerifyResult result;
  for (auto contents : {VerifyOptions::Contents::kFingerprint, VerifyOptions::Contents::kExact}) {
    bool bits_before = result.bits_equal;
    VerifyOptions options;
    options.slots = slots;
    options.contents = contents;
    result = verify(plan, options);
    EXPECT_TRUE(result.ok()) << render(result);
    if (contents == VerifyOptions::Contents::kExact) EXPECT_EQ(result.bits_equal, bits_before);
  }
  return result;
}

inline bool mentions(const VerifyResult& result, const std::string& text) {
  return render(result).find(text) != std::string::npos;
}

}  // namespace coll::testing
