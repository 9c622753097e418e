#include "tally/metrics/regression/quantile_scores.h"

#include <limits>

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

namespace regression = internal::regression;

namespace {

void check_multioutput(const char* metric, MultiOutput multioutput) {
  TORCH_CHECK_VALUE(multioutput != MultiOutput::kVarianceWeighted, metric,
                    ": expected multioutput uniform_average or raw_values, "
                    "got variance_weighted");
}

/// The sum of losses of the quantile alpha itself.
double null_loss(regression::WeightedSample& sample,
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
    regression::WeightedSample sample =
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

}  // namespace

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
        at::Tensor errors = samples.preds.detach()
                                .to(at::kDouble)
                                .sub(samples.target.detach().to(at::kDouble))
                                .abs();
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
    regression::WeightedSample sample =
        regression::sample_of(state.errors, outputs, i);
    to[i] = regression::quantile(sample, 0.5);
  }
  return outputs == 1 ? medians.squeeze(0) : medians;
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

}  // namespace tally
