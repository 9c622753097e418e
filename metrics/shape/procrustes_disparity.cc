#include "tally/metrics/shape/procrustes_disparity.h"

#include <ATen/Parallel.h>
#include <ATen/ops/linalg_det.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/shape/kernels/singular_values.h"

namespace tally {
namespace {

// So many numbers are worth another thread.
constexpr std::int64_t kGrain = 16384;
// Up to so many dimensions rotations of columns are fast enough.
constexpr std::int64_t kFewDims = 64;

// Less their mean, divided by the root of the sum of their squares.
std::vector<double> standardized(const double* points, std::int64_t count,
                                 std::int64_t dims) {
  std::vector<double> mean(static_cast<std::size_t>(dims));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < dims; ++d) mean[d] += points[i * dims + d];
  }
  for (double& m : mean) m /= static_cast<double>(count);
  std::vector<double> centered(static_cast<std::size_t>(count * dims));
  double square = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < dims; ++d) {
      const double value = points[i * dims + d] - mean[d];
      centered[i * dims + d] = value;
      square += value * value;
    }
  }
  const double length = std::sqrt(square);
  for (double& value : centered) value /= length;
  return centered;
}

double disparity_of(double similarity) {
  // Not below 0 by rounding; NaN stays.
  const double disparity = 1 - similarity * similarity;
  return disparity < 0 ? 0 : disparity;
}

double disparity(const double* a, const double* b, std::int64_t count,
                 std::int64_t dims, bool reflection) {
  const std::vector<double> from = standardized(a, count, dims);
  const std::vector<double> to = standardized(b, count, dims);
  std::vector<double> product(static_cast<std::size_t>(dims * dims));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < dims; ++r) {
      for (std::int64_t c = 0; c < dims; ++c) {
        product[r * dims + c] += from[i * dims + r] * to[i * dims + c];
      }
    }
  }
  const bool is_mirrored =
      !reflection && internal::shape::has_negative_determinant(product, dims);
  const std::vector<double> values =
      internal::shape::singular_values(std::move(product), dims);
  double sum = 0;
  for (const double value : values) sum += value;
  if (is_mirrored) sum -= 2 * *std::min_element(values.begin(), values.end());
  return disparity_of(sum);
}

double plain_sum(const at::Tensor& a, const at::Tensor& b, bool reflection) {
  const std::int64_t samples = a.size(0);
  const std::int64_t size = a.size(1) * a.size(2);
  const auto* const from = a.const_data_ptr<double>();
  const auto* const to = b.const_data_ptr<double>();
  std::vector<double> disparities(static_cast<std::size_t>(samples));
  at::parallel_for(
      0, samples, 1 + kGrain / size, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          disparities[n] = disparity(from + n * size, to + n * size, a.size(1),
                                     a.size(2), reflection);
        }
      });
  double sum = 0;
  for (const double value : disparities) sum += value;
  return sum;
}

at::Tensor standardized(const at::Tensor& points) {
  const at::Tensor centered = points.sub(points.mean({1}, /*keepdim=*/true));
  return centered.div(centered.square().sum({1, 2}, /*keepdim=*/true).sqrt());
}

// The singular values' sum has the gradient of the product with U V^T as a
// constant, which is finite also where theirs is not.
at::Tensor tensor_sum(const at::Tensor& a, const at::Tensor& b,
                      bool reflection) {
  const at::Tensor product =
      standardized(a).transpose(1, 2).matmul(standardized(b));
  const auto [u, values, v] =
      // It refuses NaN, which the product brings back below.
      at::linalg_svd(product.detach().nan_to_num(0, 0, 0),
                     /*full_matrices=*/false);
  at::Tensor signs = at::ones_like(values);
  if (!reflection) {
    const at::Tensor least = signs.narrow(1, values.size(1) - 1, 1);
    least.copy_(at::linalg_det(u).mul(at::linalg_det(v)).sign().unsqueeze(1));
  }
  const at::Tensor turn = u.mul(signs.unsqueeze(1)).matmul(v);
  const at::Tensor similarity = product.mul(turn).sum({1, 2});
  return similarity.square().neg().add(1).clamp_min(0).sum();
}

// Whether all points of a sample are equal, [N].
at::Tensor are_equal(const at::Tensor& points) {
  return points.eq(points.narrow(1, 0, 1)).flatten(1).all(1);
}

// The same of float64 in plain memory: the first two points tell mostly.
bool differ(const double* points, std::int64_t count, std::int64_t dims) {
  for (std::int64_t i = dims; i < count * dims; i += dims) {
    if (!std::equal(points, points + dims, points + i)) return true;
  }
  return false;
}

void check_points(const char* name, const at::Tensor& points) {
  if (internal::is_plain(points)) {
    const auto* const data = points.const_data_ptr<double>();
    const std::int64_t count = points.size(1), dims = points.size(2);
    std::int64_t sample = 0;
    while (sample < points.size(0) &&
           differ(data + sample * count * dims, count, dims)) {
      ++sample;
    }
    if (sample == points.size(0)) return;
  }
  const at::Tensor equal = are_equal(points.detach());
  if (!equal.any().item().toBool()) return;
  TORCH_CHECK_VALUE(false, "expected points that differ in ", name,
                    ", got equal ones in sample ",
                    equal.to(at::kByte).argmax().item().toLong());
}

}  // namespace

Disparities::State Disparities::observe(const at::Tensor& point_cloud1,
                                        const at::Tensor& point_cloud2) const {
  internal::check_real("point_cloud1", point_cloud1);
  internal::check_real("point_cloud2", point_cloud2);
  internal::check_same_shape("point_cloud1", point_cloud1, "point_cloud2",
                             point_cloud2);
  TORCH_CHECK_VALUE(point_cloud1.dim() == 3 && point_cloud1.size(1) > 0 &&
                        point_cloud1.size(2) > 0,
                    "expected points of shape [N, M, D], M and D at least 1, "
                    "got ",
                    point_cloud1.sizes());
  at::Tensor a = point_cloud1.to(at::kDouble);
  at::Tensor b = point_cloud2.to(at::kDouble);
  check_points("point_cloud1", a);
  check_points("point_cloud2", b);
  if (nan_policy_ != NanPolicy::kPropagate) {
    const at::Tensor nan = a.isnan().logical_or(b.isnan()).flatten(1).any(1);
    if (nan.any().item().toBool()) {
      TORCH_CHECK_VALUE(nan_policy_ != NanPolicy::kError,
                        "expected points without NaN, got some in sample ",
                        nan.to(at::kByte).argmax().item().toLong());
      const at::Tensor kept = nan.logical_not().nonzero().squeeze(1);
      a = a.index_select(0, kept);
      b = b.index_select(0, kept);
    }
  }
  State state;
  state.total = a.size(0);
  if (a.is_cpu() && a.size(2) <= kFewDims && !a.requires_grad() &&
      !b.requires_grad()) {
    state.sum = plain_sum(a.contiguous(), b.contiguous(), reflection_);
  } else {
    state.sum = Number(tensor_sum(a, b, reflection_));
  }
  return state;
}

at::Tensor ProcrustesDisparity::evaluate(const State& state) const {
  return options().reduction() == DisparityReduction::kSum
             ? at::Tensor(state.sum)
             : at::Tensor(state.sum / state.total);
}

template class MetricOf<ProcrustesDisparity, Disparities, at::Tensor>;

}  // namespace tally
