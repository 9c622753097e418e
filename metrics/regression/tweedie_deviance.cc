#include "tally/metrics/regression/tweedie_deviance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tally/metrics/regression/states/error_sums_impl.h"
#include "tally/metrics/regression/states/explained.h"

namespace tally {

namespace regression = internal::regression;

namespace internal::regression {

template <>
std::optional<ErrorKernel> kernel_of(const TweedieDeviance& error) {
  if (error.power == 0) return ErrorKernel{ErrorKind::kPower, 2};
  if (error.power == 1) return ErrorKernel{ErrorKind::kPoisson};
  if (error.power == 2) return ErrorKernel{ErrorKind::kGamma};
  return ErrorKernel{std::nullopt, error.power};
}

}  // namespace internal::regression

namespace {

using State = ExplainedDeviance::State;

constexpr std::int64_t kBlock = 2048;

Number deviance_of(const TweedieDeviance& deviance, const Number& preds,
                   const Number& target) {
  if (preds.is_plain() && target.is_plain()) {
    return deviance(preds.value(), target.value());
  }
  return Number(deviance(preds.tensor(), target.tensor()));
}

/// Of targets: what D2TweedieScore compares with.
template <class T>
struct Null {
  T weight{}, mean{}, deviance{};
};

template <class T, class DevianceOf>
Null<T> merge_nulls(const Null<T>& a, const Null<T>& b,
                    const DevianceOf& deviance_of_means) {
  const T weight = a.weight + b.weight;
  const T mean = a.mean + (b.mean - a.mean) * (b.weight / weight);
  return {weight, mean,
          a.deviance + b.deviance + a.weight * deviance_of_means(mean, a.mean) +
              b.weight * deviance_of_means(mean, b.mean)};
}

// The sum of deviances from one prediction, by kernels; nothing for targets
// that they do not take.
std::optional<double> sum_from(const TweedieDeviance& deviance, double pred,
                               const double* target, std::int64_t count) {
  const regression::ErrorKernel kernel = *regression::kernel_of(deviance);
  const std::vector<double> preds(static_cast<std::size_t>(count), pred);
  if (!kernel.kind) {
    return regression::tweedie_sum(deviance.power, preds.data(), target, count);
  }
  const auto sums = regression::error_sums(*kernel.kind, kernel.parameter,
                                           preds.data(), target, count);
  return sums ? std::optional(sums->sum) : std::nullopt;
}

// The mean is the first target plus the mean difference from it: exact where
// targets are constant.
Null<double> block_null(const TweedieDeviance& deviance, const double* target,
                        const double* weight, std::int64_t count) {
  Null<double> null;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = weight == nullptr ? 1 : weight[i];
    sum += w * (target[i] - target[0]);
    null.weight += w;
  }
  if (null.weight == 0) return {};
  null.mean = target[0] + sum / null.weight;
  if (weight == nullptr) {
    if (const auto deviances = sum_from(deviance, null.mean, target, count)) {
      null.deviance = *deviances;
      return null;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = weight == nullptr ? 1 : weight[i];
    null.deviance += w * deviance(null.mean, target[i]);
  }
  return null;
}

Null<double> plain_null(const TweedieDeviance& deviance, const double* target,
                        const double* weight, std::int64_t count) {
  Null<double> null;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const Null<double> block = block_null(
        deviance, target + begin, weight == nullptr ? weight : weight + begin,
        std::min(kBlock, count - begin));
    if (null.weight == 0) {
      null = block;
    } else if (block.weight != 0) {
      null = merge_nulls(null, block, deviance);
    }
  }
  return null;
}

Null<Number> null_of(const TweedieDeviance& deviance, const at::Tensor& target,
                     const at::Tensor& weight) {
  const at::Tensor t = target.to(at::kDouble).reshape(-1).contiguous();
  at::Tensor w;
  if (weight.defined()) {
    w = weight.detach().to(at::kDouble).reshape(-1).contiguous();
  }
  if (t.is_cpu()) {
    const Null<double> null = plain_null(
        deviance, t.const_data_ptr<double>(),
        w.defined() ? w.const_data_ptr<double>() : nullptr, t.numel());
    return {null.weight, null.mean, null.deviance};
  }
  if (!w.defined()) w = t.new_ones(t.sizes());
  const at::Tensor sum = w.sum();
  const at::Tensor first = t.select(0, 0);
  const at::Tensor mean =
      first.add(w.mul(t.sub(first))
                    .sum()
                    .div(sum.clamp_min(std::numeric_limits<double>::min())));
  return {Number(sum), Number(mean), Number(deviance(mean, t).mul(w).sum())};
}

}  // namespace

namespace internal::regression {

template <class T>
std::optional<PlainSums> tweedie_sums(const TweedieDeviance& error,
                                      const T* preds, const T* target,
                                      std::int64_t count) {
  if (kernel_of(error)->kind) return std::nullopt;
  const std::optional<double> sum =
      tweedie_sum(error.power, preds, target, count);
  if (!sum) return std::nullopt;
  return PlainSums{*sum, static_cast<double>(count), true};
}

template <>
std::optional<PlainSums> kernel_sums(const TweedieDeviance& error,
                                     const float* preds, const float* target,
                                     std::int64_t count) {
  return tweedie_sums(error, preds, target, count);
}
template <>
std::optional<PlainSums> kernel_sums(const TweedieDeviance& error,
                                     const double* preds, const double* target,
                                     std::int64_t count) {
  return tweedie_sums(error, preds, target, count);
}

}  // namespace internal::regression

template class ErrorSums<TweedieDeviance>;

double TweedieDeviance::operator()(double preds, double target) const {
  if (power == 0) return (preds - target) * (preds - target);
  if (preds == target) return 0;
  if (power == 1) {
    const double log = target == 0 ? 0 : target * std::log(target / preds);
    return 2 * (log + preds - target);
  }
  if (power == 2) {
    return 2 * (std::log(preds / target) + target / preds - 1);
  }
  return 2 * (std::pow(target < 0 ? 0 : target, 2 - power) /
                  ((1 - power) * (2 - power)) -
              target * std::pow(preds, 1 - power) / (1 - power) +
              std::pow(preds, 2 - power) / (2 - power));
}

at::Tensor TweedieDeviance::operator()(const at::Tensor& preds,
                                       const at::Tensor& target) const {
  if (power == 0) return preds.sub(target).square();
  if (power == 1) {
    // The ratio's own gradient would be 0 / 0 where the target is 0.
    const at::Tensor ratio = target.div(preds).where(target.ne(0), 1);
    return target.xlogy(ratio).add(preds).sub(target).mul(2);
  }
  if (power == 2) {
    return preds.div(target).log().add(target.div(preds)).sub(1).mul(2);
  }
  return target.clamp_min(0)
      .pow(2 - power)
      .div((1 - power) * (2 - power))
      .sub(target.mul(preds.pow(1 - power)).div(1 - power))
      .add(preds.pow(2 - power).div(2 - power))
      .mul(2)
      .masked_fill(preds.eq(target), 0);
}

bool TweedieDeviance::valid(double preds, double target) const {
  return power == 0 || (!(preds <= 0) && (power < 1 || !(target < 0)) &&
                        (power < 2 || !(target <= 0)));
}

at::Tensor TweedieDeviance::valid(const at::Tensor& preds,
                                  const at::Tensor& target) const {
  if (power == 0) return preds.eq(preds).logical_or(preds.ne(preds));
  at::Tensor wrong = preds.le(0);
  if (power >= 2) {
    wrong = wrong.logical_or(target.le(0));
  } else if (power >= 1) {
    wrong = wrong.logical_or(target.lt(0));
  }
  return wrong.logical_not();
}

std::string TweedieDeviance::domain() const {
  return c10::str("preds above 0",
                  power >= 2   ? " and target above 0"
                  : power >= 1 ? " and target of at least 0"
                               : "",
                  " with power ", power);
}

void TweedieDevianceScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(power_) && (power_ <= 0 || power_ >= 1),
                    metric, ": expected power of at most 0 or at least 1, got ",
                    power_);
}

at::Tensor TweedieDevianceScore::evaluate(const State& state) const {
  return regression::mean_error(state, /*num_outputs=*/1);
}

bool State::has_nan() const {
  return std::isnan((deviance + weight + mean_target).value());
}

State State::merge(const State& a, const State& b) {
  const State& filled = a.total == 0 ? b : a;
  State merged = filled;
  merged.total = a.total + b.total;
  merged.deviance = a.deviance + b.deviance;
  if (a.total == 0 || b.total == 0) return merged;
  const auto empty = [](const Number& sum) {
    return sum.is_plain() && sum.value() == 0;
  };
  Null<Number> null{b.weight, b.mean_target, b.null_deviance};
  if (!empty(a.weight)) {
    const Null<Number> other{a.weight, a.mean_target, a.null_deviance};
    const TweedieDeviance deviance(
        TweedieDevianceScoreOptions(a.power.value()));
    null = empty(b.weight) ? other
                           : merge_nulls(other, null,
                                         [&](const Number& p, const Number& t) {
                                           return deviance_of(deviance, p, t);
                                         });
  }
  merged.weight = null.weight;
  merged.mean_target = null.mean;
  merged.null_deviance = null.deviance;
  return merged;
}

State ExplainedDeviance::observe(const at::Tensor& preds,
                                 const at::Tensor& target,
                                 const at::Tensor& weight) const {
  regression::check_outputs(preds, target, /*num_outputs=*/1);
  const at::Tensor constant = target.requires_grad() ? target.detach() : target;
  if (weight.defined()) {
    regression::check_weight(preds, weight, /*num_outputs=*/1, validate_);
  }
  return regression::observe_by_policy(
      {preds, constant, weight}, /*num_outputs=*/1, nan_policy_,
      [this](const regression::Samples& samples) {
        const ErrorState errors = regression::error_sums(
            deviance_, samples, /*outputs=*/1, validate_);
        State state;
        state.total = samples.preds.numel();
        state.power = deviance_.power;
        state.deviance = errors.sum;
        if (state.total == 0) return state;
        const Null<Number> null =
            null_of(deviance_, samples.target, samples.weight);
        state.weight = null.weight;
        state.mean_target = null.mean;
        state.null_deviance = null.deviance;
        return state;
      });
}

at::Tensor D2TweedieScore::evaluate(const State& state) const {
  return regression::explained_fraction(state.deviance, state.null_deviance,
                                        state.total);
}

template class MetricOf<TweedieDevianceScore, ErrorSums<TweedieDeviance>,
                        at::Tensor>;
template class MetricOf<D2TweedieScore, ExplainedDeviance, at::Tensor>;

}  // namespace tally
