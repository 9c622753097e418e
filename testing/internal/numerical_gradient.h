#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace tally::testkit {

/// The comparison of a gradient with the expected one: `actual` is `scale`
/// times `expected`, up to an error of the relative size `residual` (absolute
/// where `expected` is 0).
struct GradientMatch {
  double scale;
  double residual;
};

/// Both are float64. An undefined `actual` is treated as zeros, as is an
/// `expected` whose norm is at most `negligible`; the residual is then relative
/// to that.
GradientMatch match_gradient(const at::Tensor& actual,
                             const at::Tensor& expected, double negligible = 0);

/// The spread of the values of `point`: their standard deviation, or 1.
double spread_of(const at::Tensor& point);

/// The gradient of `function` at `point` (float64) by central differences.
at::Tensor numerical_gradient(
    const std::function<double(const at::Tensor& point)>& function,
    const at::Tensor& point);

}  // namespace tally::testkit
