#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/kendall_rank_corr_coef.h"
#include "tally/metrics/regression/kernels/pair_ranks.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/metrics/regression/spearman_corr_coef.h"

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::Moments;
using regression::PairCounts;

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
  return m.products.div(norm).clamp(-1, 1).masked_fill(undefined,
                                                       internal::kNaN);
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
      .masked_fill(undefined, internal::kNaN);
}

at::Tensor columns_of(const Rows& rows, std::int64_t outputs) {
  return rows.tensor().to(at::kCPU).reshape({-1, outputs});
}

double tau_of(const PairCounts& counts, KendallVariant variant) {
  if (counts.samples < 2) return internal::kNaN;
  const auto n = static_cast<double>(counts.samples);
  const double pairs = n * (n - 1) / 2;
  const double difference = counts.concordant_less_discordant;
  double tau = difference / pairs;
  if (variant == KendallVariant::kB) {
    tau = difference / std::sqrt(pairs - counts.x.pairs) /
          std::sqrt(pairs - counts.y.pairs);
  } else if (variant == KendallVariant::kC) {
    const auto classes =
        static_cast<double>(std::min(counts.x.distinct, counts.y.distinct));
    tau = 2 * difference / (n * n * (classes - 1) / classes);
  }
  return std::clamp(tau, -1.0, 1.0);
}

double p_value_of(const PairCounts& counts, KendallVariant variant,
                  Alternative alternative) {
  if (counts.samples < 2) return internal::kNaN;
  const auto n = static_cast<double>(counts.samples);
  double variance = n * (n - 1) * (2 * n + 5) / 18;
  if (variant != KendallVariant::kA) {
    variance -= (counts.x.spread + counts.y.spread) / 18;
    variance += 2 * counts.x.pairs * counts.y.pairs / (n * (n - 1));
    // Of two samples there are no triples.
    if (counts.samples > 2) {
      variance +=
          counts.x.triples * counts.y.triples / (9 * n * (n - 1) * (n - 2));
    }
  }
  const double z = counts.concordant_less_discordant / std::sqrt(variance);
  const auto below = [](double value) {
    return std::erfc(-value / std::sqrt(2.0)) / 2;
  };
  switch (alternative) {
    case Alternative::kTwoSided:
      return 2 * below(-std::abs(z));
    case Alternative::kLess:
      return below(z);
    case Alternative::kGreater:
      return below(-z);
  }
  return internal::kNaN;
}

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

at::Tensor average_scores(const at::Tensor& scores,
                          const JointMoments::State& state,
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

at::Tensor SpearmanCorrCoef::evaluate(const State& state) const {
  const std::int64_t outputs = options().num_outputs();
  at::Tensor values = regression::undefined_outputs(outputs);
  if (state.preds.defined() && state.target.defined()) {
    double* const to = values.mutable_data_ptr<double>();
    const at::Tensor preds = columns_of(state.preds, outputs);
    const at::Tensor target = columns_of(state.target, outputs);
    for (std::int64_t i = 0; i < outputs; ++i) {
      to[i] =
          regression::rank_correlation(preds.select(1, i), target.select(1, i));
    }
  }
  return outputs == 1 ? values.squeeze(0) : values;
}

void KendallRankCorrCoefOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

KendallResult KendallRankCorrCoef::evaluate(const State& state) const {
  const std::int64_t outputs = options().num_outputs();
  at::Tensor tau = regression::undefined_outputs(outputs);
  at::Tensor p_value;
  if (options().t_test()) p_value = regression::undefined_outputs(outputs);
  if (state.preds.defined() && state.target.defined()) {
    const at::Tensor preds = columns_of(state.preds, outputs);
    const at::Tensor target = columns_of(state.target, outputs);
    for (std::int64_t i = 0; i < outputs; ++i) {
      const auto counts =
          regression::count_pairs(preds.select(1, i), target.select(1, i));
      if (!counts) continue;
      tau.mutable_data_ptr<double>()[i] = tau_of(*counts, options().variant());
      if (p_value.defined()) {
        p_value.mutable_data_ptr<double>()[i] =
            p_value_of(*counts, options().variant(), options().alternative());
      }
    }
  }
  if (outputs > 1) return {tau, p_value};
  return {tau.squeeze(0), p_value.defined() ? p_value.squeeze(0) : p_value};
}

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
  const at::Tensor value =
      average_scores(scores, state, options().multioutput());
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
  return average_scores(scores, state, options().multioutput());
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

template class MetricOf<KendallRankCorrCoef, SamplePairs, KendallResult,
                        KendallRankCorrCoefOptions>;
template class MetricOf<PearsonCorrCoef, JointMoments, at::Tensor,
                        PearsonCorrCoefOptions>;
template class MetricOf<ConcordanceCorrCoef, JointMoments, at::Tensor,
                        ConcordanceCorrCoefOptions>;
template class MetricOf<R2Score, JointMoments, at::Tensor, R2ScoreOptions>;
template class MetricOf<ExplainedVariance, JointMoments, at::Tensor,
                        ExplainedVarianceOptions>;
template class MetricOf<RelativeSquaredError, JointMoments, at::Tensor,
                        RelativeSquaredErrorOptions>;
template class MetricOf<SpearmanCorrCoef, SamplePairs, at::Tensor,
                        SpearmanCorrCoefOptions>;

}  // namespace tally
