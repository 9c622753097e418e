#include "tally/metrics/regression/r2_score.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::Moments;

// Negative by rounding only.
double error_variance(const Moments<double>& m) {
  return std::max(m.squares_preds - 2 * m.products + m.squares_target, 0.0);
}

at::Tensor error_variance(const Moments<at::Tensor>& m) {
  return m.squares_preds.sub(m.products, 2).add(m.squares_target).clamp_min(0);
}

double relative_error(const Moments<double>& m, bool squared) {
  const double value = m.squared_error / m.squares_target;
  return squared ? value : std::sqrt(value);
}

at::Tensor relative_error(const Moments<at::Tensor>& m, bool squared) {
  const at::Tensor value = m.squared_error.div(m.squares_target);
  return squared ? value : regression::root(value);
}

at::Tensor average(const at::Tensor& scores, const JointMoments::State& state,
                   MultiOutput multioutput) {
  if (scores.dim() == 0) return scores;
  return regression::average_outputs(
      scores,
      state.outputs.defined()
          ? state.outputs.select(0, regression::kSquaresTargetRow)
          : scores,
      multioutput);
}

}  // namespace

void R2ScoreOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
  TORCH_CHECK_VALUE(adjusted_ >= 0, metric,
                    ": expected adjusted of at least 0, got ", adjusted_);
}

void ExplainedVarianceOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

void RelativeSquaredErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor R2Score::evaluate(const State& state) const {
  const at::Tensor scores = regression::evaluate_moments(
      state, options().num_outputs(), /*least_samples=*/2,
      [](const auto& m, const auto&) {
        return regression::explained_fraction(m.squared_error,
                                              m.squares_target);
      });
  const at::Tensor value = average(scores, state, options().multioutput());
  const std::int64_t adjusted = options().adjusted();
  if (adjusted == 0) return value;
  if (state.total < adjusted + 2) {
    return regression::undefined_unless(false, value);
  }
  const double factor = static_cast<double>(state.total - 1) /
                        static_cast<double>(state.total - adjusted - 1);
  return value.mul(factor).add(1 - factor);
}

at::Tensor ExplainedVariance::evaluate(const State& state) const {
  const at::Tensor scores = regression::evaluate_moments(
      state, options().num_outputs(), /*least_samples=*/2,
      [](const auto& m, const auto&) {
        return regression::explained_fraction(error_variance(m),
                                              m.squares_target);
      });
  return average(scores, state, options().multioutput());
}

at::Tensor RelativeSquaredError::evaluate(const State& state) const {
  const bool squared = options().squared();
  const at::Tensor values = regression::evaluate_moments(
      state, options().num_outputs(), /*least_samples=*/2,
      [squared](const auto& m, const auto&) {
        return relative_error(m, squared);
      });
  return values.dim() == 0 ? values : values.mean();
}

}  // namespace tally
