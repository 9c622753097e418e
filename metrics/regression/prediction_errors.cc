#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/max_error.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/mean_squared_log_error.h"
#include "tally/metrics/regression/minkowski_distance.h"
#include "tally/metrics/regression/normalized_root_mean_squared_error.h"
#include "tally/metrics/regression/percentage_errors.h"
#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::Moments;

double root_mean_square(const Moments<double>& m, double weight) {
  return std::sqrt(m.squared_error / weight);
}

at::Tensor root_mean_square(const Moments<at::Tensor>& m,
                            const at::Tensor& weight) {
  return regression::root(m.squared_error.div(weight));
}

double norm_of_target(const Moments<double>& m, double weight,
                      Normalization kind) {
  if (kind == Normalization::kMean) return std::abs(m.mean_target);
  if (kind == Normalization::kStd) return std::sqrt(m.squares_target / weight);
  return std::sqrt(m.squares_target + m.mean_target * m.mean_target * weight);
}

at::Tensor norm_of_target(const Moments<at::Tensor>& m,
                          const at::Tensor& weight, Normalization kind) {
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

void check_epsilon(const char* metric, double epsilon) {
  TORCH_CHECK_VALUE(epsilon > 0, metric, ": expected eps above 0, got ",
                    epsilon);
}

// A NaN is found by the sum: it would lose each comparison.
template <class T>
double largest_error(const T* preds, const T* target, std::int64_t count) {
  constexpr int kLanes = 4;
  double largest[kLanes] = {}, sums[kLanes] = {};
  internal::visit_in_lanes<kLanes>(count, [&](std::int64_t i, int lane) {
    const double error = std::abs(static_cast<double>(preds[i]) -
                                  static_cast<double>(target[i]));
    largest[lane] = error > largest[lane] ? error : largest[lane];
    sums[lane] += error;
  });
  return std::isnan(std::accumulate(sums, sums + kLanes, 0.0))
             ? internal::kNaN
             : *std::max_element(largest, largest + kLanes);
}

}  // namespace

namespace internal::regression {

template <>
std::optional<ErrorKernel> kernel_of(const AbsoluteError&) {
  return ErrorKernel{ErrorKind::kPower, 1};
}
template <>
std::optional<ErrorKernel> kernel_of(const SquaredError&) {
  return ErrorKernel{ErrorKind::kPower, 2};
}
template <>
std::optional<ErrorKernel> kernel_of(const ErrorPower& error) {
  if (!error.multiplies()) return std::nullopt;
  return ErrorKernel{ErrorKind::kPower, error.p};
}
template <>
std::optional<ErrorKernel> kernel_of(const LogCosh&) {
  return ErrorKernel{ErrorKind::kLogCosh};
}
template <>
std::optional<ErrorKernel> kernel_of(const SquaredLogError&) {
  return ErrorKernel{ErrorKind::kSquaredLog};
}
template <>
std::optional<ErrorKernel> kernel_of(const AbsolutePercentageError& error) {
  return ErrorKernel{ErrorKind::kPercentage, error.epsilon};
}
template <>
std::optional<ErrorKernel> kernel_of(const SymmetricPercentageError& error) {
  return ErrorKernel{ErrorKind::kSymmetric, error.epsilon};
}
template <>
std::optional<ErrorKernel> kernel_of(const ErrorOverTargets&) {
  return ErrorKernel{ErrorKind::kOverTargets};
}

}  // namespace internal::regression

template class ErrorSums<AbsoluteError>;
template class ErrorSums<LogCosh>;

at::Tensor AbsoluteError::operator()(const at::Tensor& preds,
                                     const at::Tensor& target) const {
  return preds.sub(target).abs();
}

// Of small errors, log(cosh(x)) = log1p(2 sinh(x / 2)^2) keeps the digits; that
// of large ones would overflow.
double LogCosh::operator()(double preds, double target) const {
  const double x = std::abs(preds - target);
  if (x < 1) {
    const double sinh = std::sinh(x / 2);
    return std::log1p(2 * sinh * sinh);
  }
  return x + std::log1p(std::exp(-2 * x)) - std::log(2.0);
}

at::Tensor LogCosh::operator()(const at::Tensor& preds,
                               const at::Tensor& target) const {
  const at::Tensor x = preds.sub(target).abs();
  return at::where(x.lt(1),
                   x.clamp_max(1).div(2).sinh().square().mul(2).log1p(),
                   x.add(x.mul(-2).exp().log1p()).sub(std::log(2.0)));
}

at::Tensor MeanAbsoluteError::evaluate(const State& state) const {
  return regression::mean_error(state, options().num_outputs());
}

at::Tensor LogCoshError::evaluate(const State& state) const {
  return regression::mean_error(state, options().num_outputs());
}

template class ErrorSums<SquaredError>;

at::Tensor SquaredError::operator()(const at::Tensor& preds,
                                    const at::Tensor& target) const {
  return preds.sub(target).square();
}

void MeanSquaredErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanSquaredError::evaluate(const State& state) const {
  return options().squared()
             ? regression::mean_error(state, options().num_outputs())
             : regression::root_mean_error(state, options().num_outputs());
}

template class ErrorSums<SquaredLogError>;

double SquaredLogError::operator()(double preds, double target) const {
  // The difference of the logarithms.
  const double difference = std::log1p((preds - target) / (1 + target));
  return difference * difference;
}

at::Tensor SquaredLogError::operator()(const at::Tensor& preds,
                                       const at::Tensor& target) const {
  return preds.log1p().sub(target.log1p()).square();
}

at::Tensor SquaredLogError::valid(const at::Tensor& preds,
                                  const at::Tensor& target) const {
  return preds.le(-1).logical_or(target.le(-1)).logical_not();
}

void MeanSquaredLogErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanSquaredLogError::evaluate(const State& state) const {
  return options().squared()
             ? regression::mean_error(state, options().num_outputs())
             : regression::root_mean_error(state, options().num_outputs());
}

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
          return quotient(root_mean_square(m, weight),
                          norm_of_target(m, weight, kind));
        });
  }
  const at::Tensor errors =
      regression::evaluate_moments(state, outputs, /*least_samples=*/1,
                                   [](const auto& m, const auto& weight) {
                                     return root_mean_square(m, weight);
                                   });
  if (!state.range.defined()) return errors;
  return errors.div(state.range.select(0, 1)
                        .sub(state.range.select(0, 0))
                        .reshape(errors.sizes()));
}

template class ErrorSums<ErrorPower>;

double ErrorPower::operator()(double preds, double target) const {
  const double error = std::abs(preds - target);
  if (!multiplies()) return std::pow(error, p);
  double power = error;
  for (int i = 1; i < p; ++i) power *= error;
  return power;
}

at::Tensor ErrorPower::operator()(const at::Tensor& preds,
                                  const at::Tensor& target) const {
  return preds.sub(target).abs().pow(p);
}

void MinkowskiDistanceOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(p_) && p_ >= 1, metric,
                    ": expected p of at least 1, got ", p_);
}

at::Tensor MinkowskiDistance::evaluate(const State& state) const {
  if (state.weight.value() == 0) return state.sum / state.weight;  // NaN
  const double exponent = 1 / options().p();
  if (state.sum.is_plain()) {
    return Number(std::pow(state.sum.value(), exponent));
  }
  const at::Tensor sum = state.sum.tensor();
  const at::Tensor zero = sum.eq(0);
  return sum.masked_fill(zero, 1).pow(exponent).masked_fill(zero, 0);
}

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
  check_epsilon(metric, eps_);
  regression::check_num_outputs(metric, num_outputs_);
}

void WeightedMeanAbsolutePercentageErrorOptions::validate(
    const char* metric) const {
  check_epsilon(metric, eps_);
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
  return state.sum / max(state.weight, options().eps());
}

bool LargestError::State::has_nan() const { return std::isnan(max.value()); }

LargestError::State LargestError::observe(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  regression::check_outputs(preds, target, /*num_outputs=*/1);
  const at::Tensor no_weight;
  return regression::observe_by_policy(
      {preds, target, no_weight}, /*num_outputs=*/1, nan_policy_,
      [](const regression::Samples& samples) {
        State state;
        const std::int64_t count = samples.preds.numel();
        if (count == 0) return state;
        if (samples.are_plain()) {
          state.max =
              internal::visit_values(samples.preds, samples.target,
                                     [count](const auto* p, const auto* t) {
                                       return largest_error(p, t, count);
                                     });
        } else {
          state.max = Number(samples.preds.detach()
                                 .to(at::kDouble)
                                 .sub(samples.target.detach().to(at::kDouble))
                                 .abs()
                                 .max());
        }
        return state;
      });
}

at::Tensor MaxError::evaluate(const State& state) const {
  if (state.max.is_plain()) {
    return Number(state.max.value() < 0 ? internal::kNaN : state.max.value());
  }
  const at::Tensor max = state.max.tensor();
  return max.masked_fill(max.lt(0), internal::kNaN);
}

template class MetricOf<MaxError, LargestError, at::Tensor>;
template class MetricOf<MeanAbsoluteError, ErrorSums<AbsoluteError>,
                        at::Tensor>;
template class MetricOf<LogCoshError, ErrorSums<LogCosh>, at::Tensor>;
template class MetricOf<MeanSquaredError, ErrorSums<SquaredError>, at::Tensor>;
template class MetricOf<MeanSquaredLogError, ErrorSums<SquaredLogError>,
                        at::Tensor>;
template class MetricOf<MinkowskiDistance, ErrorSums<ErrorPower>, at::Tensor>;
template class MetricOf<NormalizedRootMeanSquaredError, JointMoments,
                        at::Tensor, NormalizedRootMeanSquaredErrorOptions>;
template class MetricOf<MeanAbsolutePercentageError,
                        ErrorSums<AbsolutePercentageError>, at::Tensor>;
template class MetricOf<SymmetricMeanAbsolutePercentageError,
                        ErrorSums<SymmetricPercentageError>, at::Tensor>;
template class MetricOf<WeightedMeanAbsolutePercentageError,
                        ErrorSums<ErrorOverTargets>, at::Tensor>;

}  // namespace tally
