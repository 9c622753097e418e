#include "tally/testing/internal/numerical_gradient.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace tally::testkit {

GradientMatch match_gradient(const at::Tensor& actual,
                             const at::Tensor& expected, double negligible) {
  const at::Tensor a = actual.defined() ? actual : at::zeros_like(expected);
  const double size = expected.norm().item<double>();
  if (!(size > negligible)) {
    const double error = a.norm().item<double>();
    return {1, negligible > 0 ? error / negligible : error};
  }
  const double scale = a.mul(expected).sum().item<double>() / (size * size);
  return {scale, a.sub(expected.mul(scale)).norm().item<double>() / size};
}

double spread_of(const at::Tensor& point) {
  const double spread =
      point.numel() > 1 ? point.detach().std().item<double>() : 0;
  return spread > 0 && std::isfinite(spread) ? spread : 1;
}

at::Tensor numerical_gradient(
    const std::function<double(const at::Tensor& point)>& function,
    const at::Tensor& point) {
  const c10::Device device = point.device();
  const at::Tensor moved =
      point.detach()
          .to(at::kCPU, point.scalar_type(), false, /*copy=*/true)
          .contiguous();
  at::Tensor gradient = at::empty_like(moved);
  // Far from 0 it is the spread of the values that tells how far to step.
  const double step = 1e-5 * spread_of(moved);
  double* x = moved.mutable_data_ptr<double>();
  double* g = gradient.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < moved.numel(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = x[i];
    const double right =
        function(moved.to(device, moved.scalar_type(), false, /*copy=*/true));
    x[i] = at - step;
    const double left =
        function(moved.to(device, moved.scalar_type(), false, /*copy=*/true));
    g[i] = (right - left) / (above - x[i]);
    x[i] = at;
  }
  return gradient.to(device);
}

}  // namespace tally::testkit
