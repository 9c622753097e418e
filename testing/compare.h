#pragma once

#include <gtest/gtest.h>

#include "tally/metrics/results.h"

namespace tally::testkit {

/// The allowed difference from the expected value: rtol * |expected| + atol.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};
/// The tolerances (rtol and atol) of torch.testing.assert_close: 1e-7 and 1e-7
/// for float64, 1.3e-6 and 1e-5 for float32, 1e-3 and 1e-5 for float16, 0.016
/// and 1e-5 for bfloat16; 0 for integers and bool.
Tolerance default_tolerance(at::ScalarType dtype);

/// Requires the same names in the same order, the same sizes, and values within
/// the tolerance. NaN equals NaN, infinities must be equal; dtypes may differ.
/// The message shows the first values that differ and the largest errors.
::testing::AssertionResult near(const Results& actual, const Results& expected,
                                Tolerance tolerance = {});
::testing::AssertionResult near(const at::Tensor& actual,
                                const at::Tensor& expected,
                                Tolerance tolerance = {});

/// Requires the same names and dtypes.
::testing::AssertionResult same_dtypes(const Results& actual,
                                       const Results& expected);

/// Requires the same names, dtypes, sizes and bits.
::testing::AssertionResult same_bits(const Results& actual,
                                     const Results& expected);
::testing::AssertionResult same_bits(const at::Tensor& actual,
                                     const at::Tensor& expected);

}  // namespace tally::testkit
