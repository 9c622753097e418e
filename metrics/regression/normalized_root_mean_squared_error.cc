#include "tally/metrics/regression/normalized_root_mean_squared_error.h"

#include <cmath>

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::Moments;

double error(const Moments<double>& m, double weight) {
  return std::sqrt(m.squared_error / weight);
}

at::Tensor error(const Moments<at::Tensor>& m, const at::Tensor& weight) {
  return regression::root(m.squared_error.div(weight));
}

double norm(const Moments<double>& m, double weight, Normalization kind) {
  if (kind == Normalization::kMean) return std::abs(m.mean_target);
  if (kind == Normalization::kStd) return std::sqrt(m.squares_target / weight);
  return std::sqrt(m.squares_target + m.mean_target * m.mean_target * weight);
}

at::Tensor norm(const Moments<at::Tensor>& m, const at::Tensor& weight,
                Normalization kind) {
  if (kind == Normalization::kMean) return m.mean_target.abs();
  if (kind == Normalization::kStd) {
    return regression::root(m.squares_target.div(weight));
  }
  return regression::root(
      m.squares_target.add(m.mean_target.square().mul(weight)));
}

double quotient(double a, double b) { return a / b; }
at::Tensor quotient(const at::Tensor& a, const at::Tensor& b) {
  return a.div(b);
}

}  // namespace

void NormalizedRootMeanSquaredErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor NormalizedRootMeanSquaredError::evaluate(const State& state) const {
  const Normalization kind = options().normalization();
  const std::int64_t outputs = options().num_outputs();
  if (kind != Normalization::kRange) {
    return regression::evaluate_moments(
        state, outputs, /*least_samples=*/1,
        [kind](const auto& m, const auto& weight) {
          return quotient(error(m, weight), norm(m, weight, kind));
        });
  }
  const at::Tensor errors = regression::evaluate_moments(
      state, outputs, /*least_samples=*/1,
      [](const auto& m, const auto& weight) { return error(m, weight); });
  if (!state.range.defined()) return errors;
  return errors.div(state.range.select(0, 1)
                        .sub(state.range.select(0, 0))
                        .reshape(errors.sizes()));
}

}  // namespace tally
