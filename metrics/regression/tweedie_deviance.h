#pragma once

#include <string>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of TweedieDevianceScore and D2TweedieScore.
///
/// Example: `TweedieDevianceScore poisson(1);`
struct TweedieDevianceScoreOptions {
  TweedieDevianceScoreOptions(double power = 0) : power_(power) {}
  /// Power of the mean that the variance is proportional to: 0 for the normal
  /// distribution, 1 for Poisson, 2 for gamma, 3 for inverse Gaussian; not
  /// between 0 and 1. Default: 0.
  TORCH_ARG(double, power);

 public:
  void visit(OptionVisitor& v) {
    v("power", power_, "0: normal, 1: Poisson, 2: gamma, 3: inverse Gaussian.");
  }
  void validate(const char* metric) const;
};
using D2TweedieScoreOptions = TweedieDevianceScoreOptions;

/// The error of TweedieDevianceScore.
struct TweedieDeviance {
  static constexpr const char* kName = "TweedieDeviance";
  using Options = TweedieDevianceScoreOptions;
  explicit TweedieDeviance(const Options& options) : power(options.power()) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    if (power != 1 && power != 2) return std::nullopt;
    const auto kind = power == 1 ? internal::regression::ErrorKind::kPoisson
                                 : internal::regression::ErrorKind::kGamma;
    return internal::regression::error_sums(kind, 0, preds, target, count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  bool valid(double preds, double target) const;
  at::Tensor valid(const at::Tensor& preds, const at::Tensor& target) const;
  std::string domain() const;
  double power;
};
extern template class ErrorSums<TweedieDeviance>;

/// The mean Tweedie deviance.
///
///     sum_i weight_i d(preds_i, target_i) / sum_i weight_i
///     power 0: d(p, t) = (p - t)^2
///     power 1: 2 (t log(t / p) + p - t)
///     power 2: 2 (log(p / t) + t / p - 1)
///     else:    2 (max(t, 0)^(2 - power) / ((1 - power) (2 - power))
///                 - t p^(1 - power) / (1 - power) + p^(2 - power) / (2 -
///                 power))
///
/// update(preds, target, weight = 1): of the same shape, any real dtypes; each
/// pair of elements is a sample. preds must be above 0 unless power is 0;
/// target above 0 for power 2 or more, at least 0 for power 1 or more.
/// Result: 0-dim float64, 0 or more; NaN before any update.
/// State: both sums in float64, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for values outside of these ranges (with
/// validate_args), for shapes that differ, for weights below 0, and for NaN
/// with NanPolicy::kError;
/// c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target.
///
/// Example:
///     TweedieDevianceScore poisson(/*power=*/1);
///     poisson.update(preds.exp(), target.exp());
///     double value = poisson.compute().item<double>();
class TweedieDevianceScore final
    : public MetricOf<TweedieDevianceScore, ErrorSums<TweedieDeviance>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TweedieDevianceScore";
  static constexpr MetricSummary kSummary{
      "Mean deviance of a Tweedie distribution, such as Poisson.",
      "[0, inf)",
      "",
      "tweedie, poisson deviance, gamma deviance",
      R"(\frac{1}{N} \sum_n d_p(y_n, \hat y_n))",
      "Jorgensen 1987"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The observer of D2TweedieScore.
class ExplainedDeviance {
 public:
  static constexpr const char* kName = "ExplainedDeviance";
  static constexpr const auto& kInputs = internal::regression::kWeightedInputs;
  using Options = D2TweedieScoreOptions;
  struct State {
    std::int64_t total = 0;
    Number power;
    Number weight;
    Number deviance;       // of the predictions, summed
    Number mean_target;    // weighted
    Number null_deviance;  // of the mean target, summed
    void fields(Fields& f) {
      f("total", total)("power", power)("weight", weight);
      f("deviance", deviance)("mean_target", mean_target);
      f("null_deviance", null_deviance);
    }
    bool has_nan() const;
    static State merge(const State& a, const State& b);
  };

  ExplainedDeviance(const Options& options, const MetricOptions& metric_options)
      : deviance_(options),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  TweedieDeviance deviance_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// The fraction of the Tweedie deviance explained: R^2 for power 0.
///
///     1 - sum_i weight_i d(preds_i, target_i)
///           / sum_i weight_i d(mean target, target_i)
///
/// with d as in TweedieDevianceScore.
/// update(preds, target, weight = 1): as there.
/// Result: 0-dim float64, at most 1. Constant targets: 1 if the predictions are
/// perfect, else 0, as in R2Score. NaN for fewer than two samples.
/// State: the weighted mean target, both deviances and the sum of weights in
/// float64; deviances from means are merged like variances (Banerjee et al.
/// 2005, for Bregman divergences), without differences of large sums.
/// NaN and errors: as in TweedieDevianceScore.
/// Differentiable in preds.
///
/// Example:
///     D2TweedieScore d2(/*power=*/1);
///     d2.update(preds.exp(), target.exp());
///     double value = d2.compute().item<double>();
class D2TweedieScore final
    : public MetricOf<D2TweedieScore, ExplainedDeviance, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "D2TweedieScore";
  static constexpr MetricSummary kSummary{
      "Fraction of the Tweedie deviance explained.",
      "(-inf, 1]",
      "",
      "d2 tweedie, deviance explained",
      R"(1 - \frac{D(y, \hat y)}{D(y, \bar y)})",
      "Hastie, Tibshirani and Wainwright 2015"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TweedieDevianceScore, ErrorSums<TweedieDeviance>,
                               at::Tensor>;
extern template class MetricOf<D2TweedieScore, ExplainedDeviance, at::Tensor>;

}  // namespace tally
