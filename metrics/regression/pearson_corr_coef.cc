#include "tally/metrics/regression/pearson_corr_coef.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::Moments;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Without variance, or without samples, this is 0 / 0.
double correlation(const Moments<double>& m) {
  return std::clamp(
      m.products / (std::sqrt(m.squares_preds) * std::sqrt(m.squares_target)),
      -1.0, 1.0);
}

// Without variance NaN, with a gradient of 0: that of the root would be
// infinite, and NaN even for outputs whose value nobody uses.
at::Tensor correlation(const Moments<at::Tensor>& m) {
  const at::Tensor undefined =
      m.squares_preds.gt(0).logical_and(m.squares_target.gt(0)).logical_not();
  const at::Tensor norm =
      m.squares_preds.masked_fill(undefined, 1)
          .sqrt()
          .mul(m.squares_target.masked_fill(undefined, 1).sqrt());
  return m.products.div(norm).clamp(-1, 1).masked_fill(undefined, kNaN);
}

// `correction` makes the variances unbiased. In the order of the tensors below.
double concordance(const Moments<double>& m, double weight, double correction) {
  const double bias = m.mean_preds - m.mean_target;
  return 2 * m.products /
         (m.squares_preds + m.squares_target +
          bias * bias * weight * correction);
}

at::Tensor concordance(const Moments<at::Tensor>& m, const at::Tensor& weight,
                       double correction) {
  const at::Tensor all = m.squares_preds.add(m.squares_target)
                             .add(m.mean_preds.sub(m.mean_target)
                                      .square()
                                      .mul(weight)
                                      .mul(correction));
  const at::Tensor undefined = all.eq(0);
  return m.products.mul(2)
      .div(all.masked_fill(undefined, 1))
      .masked_fill(undefined, kNaN);
}

}  // namespace

at::Tensor PearsonCorrCoef::evaluate(const State& state) const {
  return regression::evaluate_moments(
      state, options().num_outputs(), /*least_samples=*/2,
      [](const auto& moments, const auto&) { return correlation(moments); });
}

at::Tensor ConcordanceCorrCoef::evaluate(const State& state) const {
  const auto samples = static_cast<double>(state.total);
  return regression::evaluate_moments(
      state, options().num_outputs(), /*least_samples=*/2,
      [samples](const auto& moments, const auto& weight) {
        return concordance(moments, weight, (samples - 1) / samples);
      });
}

}  // namespace tally
