#pragma once

#include <gtest/gtest.h>

#include "tally/metrics/results.h"

namespace tally::testkit {

/// How far a value may be from the expected one: rtol * |expected| + atol.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};
/// What rounding explains, as torch.testing.assert_close has it: of float64
/// 1e-7 both, of float32 1.3e-6 and 1e-5, of float16 1e-3 and 1e-5, of bfloat16
/// 0.016 and 1e-5; of integers and bool 0.
Tolerance default_tolerance(at::ScalarType dtype);

/// Same names in the same order, same sizes, and values within the tolerance.
/// NaN equals NaN, infinities are equal or not; dtypes may differ. The message
/// gives the first values that differ and the largest errors.
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
