#include "tally/tests/testing/vector_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <stdexcept>

namespace tally::testkit {
namespace {

TEST(VectorLimitTest, LeavesOlderVectors) {
  const std::int64_t all = hwy::SupportedTargets();
  // Lower bits are better targets.
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    const std::int64_t best = rest & -rest;
    if ((best & (HWY_EMU128 | HWY_SCALAR)) != 0) break;
    limit_vectors(hwy::TargetName(best));
    EXPECT_EQ(hwy::SupportedTargets(), rest) << hwy::TargetName(best);
    EXPECT_FALSE(hwy::GetChosenTarget().IsInitialized());
  }
#if HWY_ARCH_X86
  limit_vectors("SSE2");
  EXPECT_EQ(hwy::SupportedTargets() & (HWY_SSE4 | HWY_AVX2 | HWY_AVX3), 0);
  EXPECT_NE(hwy::SupportedTargets(), 0);
#endif
  hwy::SetSupportedTargetsForTest(all);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

TEST(VectorLimitTest, SaysWhatThereIs) {
  try {
    limit_vectors("AVX7");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("got AVX7"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("expected one of "));
  }
}

}  // namespace
}  // namespace tally::testkit
