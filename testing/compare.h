#pragma once

#include <gtest/gtest.h>

#include "tally/metrics/results.h"

namespace tally::testkit {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// Same names in the same order, same sizes, and values within the tolerance,
/// NaN like NaN. Dtypes do not count.
::testing::AssertionResult near(const Results& actual, const Results& expected,
                                Tolerance tolerance = {});
::testing::AssertionResult near(const at::Tensor& actual,
                                const at::Tensor& expected,
                                Tolerance tolerance = {});

/// The same names and dtypes.
::testing::AssertionResult same_dtypes(const Results& actual,
                                       const Results& expected);

/// The same names, dtypes, sizes and bits.
::testing::AssertionResult same_bits(const Results& actual,
                                     const Results& expected);
::testing::AssertionResult same_bits(const at::Tensor& actual,
                                     const at::Tensor& expected);

}  // namespace tally::testkit
