#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/continuous_ranked_probability_score.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/kernels/row_kernels.h"
#include "tally/metrics/regression/mean_pinball_loss.h"
#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/regression/states/error_sums_impl.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace regression = internal::regression;

namespace {

void check_multioutput(const char* metric, MultiOutput multioutput) {
  TORCH_CHECK_VALUE(multioutput != MultiOutput::kVarianceWeighted, metric,
                    ": expected multioutput uniform_average or raw_values, "
                    "got variance_weighted");
}

/// The sum of losses of the quantile alpha itself.
double null_loss(const regression::WeightedSample& sample,
                 const PinballError& error) {
  const double quantile = regression::quantile(sample, error.alpha);
  double loss = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    loss += sample.weight_of(i) * error(quantile, sample.values[i]);
  }
  return loss;
}

at::Tensor explained_loss(const PinballAndTargets::State& state, double alpha,
                          std::int64_t outputs, MultiOutput multioutput) {
  const PinballError error{MeanPinballLossOptions(alpha)};
  at::Tensor null = regression::undefined_outputs(outputs);
  double* const to = null.mutable_data_ptr<double>();
  std::int64_t samples = 0;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const regression::WeightedSample sample =
        regression::sample_of(state.target, outputs, i);
    samples = static_cast<std::int64_t>(sample.values.size());
    to[i] = null_loss(sample, error);
  }
  if (outputs == 1) {
    return regression::explained_fraction(state.loss.sum, Number(null),
                                          samples);
  }
  if (!state.loss.output_sums.defined()) {
    return multioutput == MultiOutput::kRawValues
               ? regression::undefined_outputs(outputs)
               : regression::undefined_outputs(1).squeeze(0);
  }
  const at::Tensor scores = regression::undefined_unless(
      samples >= 2,
      regression::explained_fraction(state.loss.output_sums,
                                     null.to(state.loss.output_sums.device())));
  return regression::average_outputs(scores, scores, multioutput);
}

// With errors e_0 <= e_1 <= ..., the sum of all |e_i - e_j| is that of
// 2 (2 i - M + 1) e_i.
template <class T>
double sum_of_scores(const T* preds, const T* target, std::int64_t count,
                     std::int64_t members) {
  std::vector<double> errors(members);
  const auto size = static_cast<double>(members);
  double sum = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto t = static_cast<double>(target[row]);
    for (std::int64_t i = 0; i < members; ++i) {
      errors[i] = static_cast<double>(*preds++) - t;
      // Not to be sorted.
      if (std::isnan(errors[i])) return errors[i];
    }
    std::sort(errors.begin(), errors.end());
    double absolute = 0, spread = 0;
    for (std::int64_t i = 0; i < members; ++i) {
      absolute += std::abs(errors[i]);
      spread += static_cast<double>(2 * i - members + 1) * errors[i];
    }
    sum += absolute / size - spread / (size * size);
  }
  return sum;
}

at::Tensor sum_of_scores(const at::Tensor& preds, const at::Tensor& target) {
  const std::int64_t members = preds.size(1);
  const auto size = static_cast<double>(members);
  const at::Tensor errors =
      preds.to(at::kDouble).sub(target.to(at::kDouble).unsqueeze(1));
  const at::Tensor sorted = std::get<0>(errors.sort(1));
  const at::Tensor factors =
      at::arange(members, sorted.options().requires_grad(false))
          .mul(2)
          .sub(static_cast<double>(members - 1));
  return errors.abs()
      .sum(1)
      .div(size)
      .sub(sorted.mul(factors).sum(1).div(size * size))
      .sum();
}

// In float64.
at::Tensor absolute_errors(const at::Tensor& preds, const at::Tensor& target) {
  if (!internal::is_plain(preds) || !internal::is_plain(target)) {
    return preds.detach()
        .to(at::kDouble)
        .sub(target.detach().to(at::kDouble))
        .abs();
  }
  at::Tensor errors = internal::fresh_tensor(preds.sizes(), at::kDouble);
  auto* const to = errors.mutable_data_ptr<double>();
  const std::int64_t count = errors.numel();
  internal::visit_values(preds, target, [=](const auto* p, const auto* t) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = std::abs(static_cast<double>(p[i]) - static_cast<double>(t[i]));
    }
  });
  return errors;
}

EnsembleScores::State ensemble_scores(const at::Tensor& preds,
                                      const at::Tensor& target) {
  EnsembleScores::State state;
  state.total = preds.size(0);
  if (internal::is_plain(preds) && internal::is_plain(target)) {
    state.sum = internal::visit_values(
        preds, target, [&](const auto* p, const auto* t) {
          const std::int64_t members = preds.size(1);
          return members <= regression::kFewMembers
                     ? regression::ensemble_score_sum(p, t, state.total,
                                                      members)
                     : sum_of_scores(p, t, state.total, members);
        });
  } else {
    state.sum = Number(sum_of_scores(preds, target));
  }
  return state;
}

}  // namespace

template class ErrorSums<PinballError>;

at::Tensor PinballError::operator()(const at::Tensor& preds,
                                    const at::Tensor& target) const {
  const at::Tensor error = target.sub(preds);
  return error.clamp_min(0).mul(alpha).add(error.clamp_max(0), alpha - 1);
}

void MeanPinballLossOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(alpha_ >= 0 && alpha_ <= 1, metric,
                    ": expected alpha from 0 to 1, got ", alpha_);
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanPinballLoss::evaluate(const State& state) const {
  return regression::mean_error(state, options().num_outputs());
}

AbsoluteErrors::State AbsoluteErrors::observe(const at::Tensor& preds,
                                              const at::Tensor& target,
                                              const at::Tensor& weight) const {
  regression::check_outputs(preds, target, num_outputs_);
  if (weight.defined()) {
    regression::check_weight(preds, weight, num_outputs_, validate_);
  }
  return regression::observe_by_policy(
      {preds, target, weight}, num_outputs_, nan_policy_,
      [this](const regression::Samples& samples) {
        at::Tensor errors = absolute_errors(samples.preds, samples.target);
        if (num_outputs_ == 1) errors = errors.reshape(-1);
        State state;
        state.errors.set(errors, samples.weight);
        return state;
      });
}

at::Tensor MedianAbsoluteError::evaluate(const State& state) const {
  const std::int64_t outputs = options().num_outputs();
  at::Tensor medians = regression::undefined_outputs(outputs);
  double* const to = medians.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < outputs; ++i) {
    to[i] = regression::quantile(
        regression::sample_of(state.errors, outputs, i), 0.5);
  }
  return outputs == 1 ? medians.squeeze(0) : medians;
}

MetricSampling MedianAbsoluteError::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  sampling.order = OrderSampling();
  sampling.order->values =
      [outputs = options().num_outputs()](const AnyState& state) {
        std::vector<std::vector<double>> values;
        for (std::int64_t i = 0; i < outputs; ++i) {
          values.push_back(
              regression::sample_of(state.get<State>().errors, outputs, i)
                  .values.vec());
        }
        return values;
      };
  return sampling;
}

void D2PinballScoreOptions::validate(const char* metric) const {
  MeanPinballLossOptions(alpha_).num_outputs(num_outputs_).validate(metric);
  check_multioutput(metric, multioutput_);
}

void D2AbsoluteErrorScoreOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
  check_multioutput(metric, multioutput_);
}

PinballAndTargets::State PinballAndTargets::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  regression::check_columns(preds, target, num_outputs_);
  if (weight.defined()) {
    regression::check_weight(preds, weight, num_outputs_, validate_);
  }
  const at::Tensor constant = target.requires_grad() ? target.detach() : target;
  return regression::observe_by_policy(
      {preds, constant, weight}, num_outputs_, nan_policy_,
      [this](const regression::Samples& samples) {
        State state;
        state.loss =
            regression::error_sums(error_, samples, num_outputs_, validate_);
        at::Tensor kept = samples.target.to(at::kDouble);
        if (num_outputs_ == 1) kept = kept.reshape(-1);
        state.target.set(kept, samples.weight);
        return state;
      });
}

at::Tensor D2PinballScore::evaluate(const State& state) const {
  return explained_loss(state, options().alpha(), options().num_outputs(),
                        options().multioutput());
}

at::Tensor D2AbsoluteErrorScore::evaluate(const State& state) const {
  return explained_loss(state, 0.5, options().num_outputs(),
                        options().multioutput());
}

bool EnsembleScores::State::has_nan() const { return std::isnan(sum.value()); }

EnsembleScores::State EnsembleScores::observe(const at::Tensor& preds,
                                              const at::Tensor& target) const {
  internal::check_real("preds", preds);
  internal::check_real("target", target);
  internal::check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      preds.dim() == 2 && preds.size(1) > 0 && target.dim() == 1 &&
          target.size(0) == preds.size(0),
      "expected preds of shape [N, M], M at least 1, and target of shape [N], "
      "got ",
      preds.sizes(), " and ", target.sizes());
  if (preds.is_cpu() || nan_policy_ == NanPolicy::kPropagate) {
    EnsembleScores::State state = ensemble_scores(preds, target);
    if (nan_policy_ == NanPolicy::kPropagate || !state.has_nan()) return state;
  }
  const at::Tensor none;
  const at::Tensor columns = target.unsqueeze(1);
  const regression::KeptSamples kept = regression::handle_nan(
      {preds, columns, none}, regression::kWholeRows, nan_policy_);
  return ensemble_scores(kept.preds, kept.target.squeeze(1));
}

template class MetricOf<ContinuousRankedProbabilityScore, EnsembleScores,
                        at::Tensor>;
template class MetricOf<MeanPinballLoss, ErrorSums<PinballError>, at::Tensor>;
template class MetricOf<MedianAbsoluteError, AbsoluteErrors, at::Tensor>;
template class MetricOf<D2PinballScore, PinballAndTargets, at::Tensor>;
template class MetricOf<D2AbsoluteErrorScore, PinballAndTargets, at::Tensor,
                        D2AbsoluteErrorScoreOptions>;

}  // namespace tally
