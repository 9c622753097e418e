#include "tally/metrics/common/any_nan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tally/tests/testing/vector_targets.h"

namespace tally::internal {
namespace {

template <class T>
void expect_found_anywhere() {
  for (std::int64_t count = 0; count < 70; ++count) {
    std::vector<T> values(static_cast<std::size_t>(count),
                          std::numeric_limits<T>::infinity());
    EXPECT_FALSE(any_nan(values.data(), count)) << count;
    for (T& value : values) {
      value = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(any_nan(values.data(), count)) << count;
      value = -std::numeric_limits<T>::infinity();
    }
  }
}

TEST(AnyNaNTest, IsFoundAnywhere) {
  testkit::for_each_vector_target([] {
    expect_found_anywhere<float>();
    expect_found_anywhere<double>();
  });
}

}  // namespace
}  // namespace tally::internal
