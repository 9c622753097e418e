#include "tally/losses/common/no_subnormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace tally::losses::internal {
namespace {

/// Computed when it runs: compilers do not flush.
double half_of_least_normal() {
  volatile double least = std::numeric_limits<double>::min();
  return least / 2;
}

TEST(NoSubnormalsTest, ResultsAreZeroDuringItsLifetime) {
  const double subnormal = std::numeric_limits<double>::min() / 2;
  EXPECT_EQ(half_of_least_normal(), subnormal);
  {
    const NoSubnormals outer;
    EXPECT_EQ(half_of_least_normal(), 0);
    {
      const NoSubnormals inner;
      EXPECT_EQ(half_of_least_normal(), 0);
    }
    EXPECT_EQ(half_of_least_normal(), 0);
    volatile float least = std::numeric_limits<float>::min();
    EXPECT_EQ(least / 2, 0);
  }
  EXPECT_EQ(half_of_least_normal(), subnormal);
}

TEST(NoSubnormalsTest, OtherResultsAreAsBefore) {
  volatile double one = 1;
  volatile double three = 3;
  const double expected = one / three;
  const NoSubnormals no_subnormals;
  EXPECT_EQ(one / three, expected);
  EXPECT_EQ(one / 0x1p1022, std::numeric_limits<double>::min());
}

TEST(NoSubnormalsTest, OneThreadsResultsAreNotThoseOfAnother) {
  double of_another = -1;
  std::thread another([&] {
    const NoSubnormals no_subnormals;
    of_another = half_of_least_normal();
  });
  another.join();
  EXPECT_EQ(of_another, 0);
  EXPECT_GT(half_of_least_normal(), 0);
}

}  // namespace
}  // namespace tally::losses::internal
