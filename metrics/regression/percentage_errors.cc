#include "tally/metrics/regression/percentage_errors.h"

#include <cmath>

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

namespace regression = internal::regression;

namespace {

void check_epsilon(const char* metric, double epsilon) {
  TORCH_CHECK_VALUE(epsilon > 0, metric, ": expected epsilon above 0, got ",
                    epsilon);
}

}  // namespace

template class ErrorSums<AbsolutePercentageError>;
template class ErrorSums<SymmetricPercentageError>;
template class ErrorSums<ErrorOverTargets>;

double AbsolutePercentageError::operator()(double preds, double target) const {
  return std::abs(preds - target) / std::max(std::abs(target), epsilon);
}

at::Tensor AbsolutePercentageError::operator()(const at::Tensor& preds,
                                               const at::Tensor& target) const {
  return preds.sub(target).abs().div(target.abs().clamp_min(epsilon));
}

double SymmetricPercentageError::operator()(double preds, double target) const {
  return 2 * std::abs(preds - target) /
         std::max(std::abs(preds) + std::abs(target), epsilon);
}

at::Tensor SymmetricPercentageError::operator()(
    const at::Tensor& preds, const at::Tensor& target) const {
  return preds.sub(target).abs().mul(2).div(
      preds.abs().add(target.abs()).clamp_min(epsilon));
}

double ErrorOverTargets::operator()(double preds, double target) const {
  return std::abs(preds - target);
}

at::Tensor ErrorOverTargets::operator()(const at::Tensor& preds,
                                        const at::Tensor& target) const {
  return preds.sub(target).abs();
}

at::Tensor ErrorOverTargets::scale(const at::Tensor& target) const {
  return target.abs();
}

void MeanAbsolutePercentageErrorOptions::validate(const char* metric) const {
  check_epsilon(metric, epsilon_);
  regression::check_num_outputs(metric, num_outputs_);
}

void WeightedMeanAbsolutePercentageErrorOptions::validate(
    const char* metric) const {
  check_epsilon(metric, epsilon_);
}

at::Tensor MeanAbsolutePercentageError::evaluate(const State& state) const {
  return regression::mean_error(state, options().num_outputs());
}

at::Tensor SymmetricMeanAbsolutePercentageError::evaluate(
    const State& state) const {
  return regression::mean_error(state, options().num_outputs());
}

at::Tensor WeightedMeanAbsolutePercentageError::evaluate(
    const State& state) const {
  if (state.sum.value() == 0 && state.weight.value() == 0) {
    return state.sum / state.weight;  // NaN
  }
  return state.sum / max(state.weight, options().epsilon());
}

}  // namespace tally
