#include "tally/tests/testing/gradients.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace tally::testing {

GradientMatch match_gradient(const at::Tensor& actual,
                             const at::Tensor& expected) {
  const at::Tensor a = actual.defined() ? actual : at::zeros_like(expected);
  const double square = expected.mul(expected).sum().item<double>();
  const double size = std::sqrt(square);
  const double scale =
      square > 0 ? a.mul(expected).sum().item<double>() / square : 1;
  const double error = a.sub(expected.mul(scale)).norm().item<double>();
  return {scale, size > 0 ? error / size : error};
}

at::Tensor numerical_gradient(
    const std::function<double(const at::Tensor& point)>& function,
    const at::Tensor& point) {
  const at::Tensor moved = point.detach().clone().contiguous();
  at::Tensor gradient = at::empty_like(moved);
  // Far from 0 it is the spread of the values that tells how far to step.
  double spread = moved.numel() > 1 ? moved.std().item<double>() : 0;
  if (!(spread > 0)) spread = 1;
  const double step = 1e-5 * spread;
  double* x = moved.mutable_data_ptr<double>();
  double* g = gradient.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < moved.numel(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = x[i];
    const double right = function(moved.clone());
    x[i] = at - step;
    const double left = function(moved.clone());
    g[i] = (right - left) / (above - x[i]);
    x[i] = at;
  }
  return gradient;
}

}  // namespace tally::testing
