#include "tally/metrics/features/clip_score.h"

#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/features/inputs/pairs.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

double plain_sum(const double* a, const double* b, std::int64_t rows,
                 std::int64_t dims) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row, a += dims, b += dims) {
    const auto product = [&](const double* x, const double* y) {
      return internal::sum_terms(dims,
                                 [&](std::int64_t i) { return x[i] * y[i]; });
    };
    const double squares = product(a, a) * product(b, b);
    if (squares == 0) continue;
    const double cosine = product(a, b) / std::sqrt(squares);
    if (!(cosine <= 0)) sum += cosine;  // also NaN
  }
  return sum;
}

at::Tensor tensor_sum(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor squares = a.square().sum(1).mul(b.square().sum(1));
  const at::Tensor lengths = squares.masked_fill(squares.eq(0), 1).sqrt();
  return a.mul(b).sum(1).div(lengths).clamp_min(0).sum();
}

}  // namespace

void CLIPScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(scale_), metric,
                    ": option 'scale': expected a finite number, got ", scale_);
}

FeatureCosines::State FeatureCosines::observe(
    const at::Tensor& image_features, const at::Tensor& text_features) const {
  internal::check_real("image_features", image_features);
  internal::check_real("text_features", text_features);
  internal::check_same_shape("image_features", image_features, "text_features",
                             text_features);
  TORCH_CHECK_VALUE(image_features.dim() == 2,
                    "expected features of shape [N, D], got ",
                    image_features.sizes());
  const auto [a, b] = internal::features::wide_pairs(
      image_features, text_features, "features", nan_policy_);
  State state;
  state.total = a.size(0);
  state.sum =
      internal::is_plain(a) && internal::is_plain(b)
          ? Number(plain_sum(a.const_data_ptr<double>(),
                             b.const_data_ptr<double>(), a.size(0), a.size(1)))
          : Number(tensor_sum(a, b));
  return state;
}

at::Tensor CLIPScore::evaluate(const State& state) const {
  return state.sum / state.total * options().scale();
}

}  // namespace tally
