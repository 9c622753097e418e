#pragma once

#include <limits>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"

namespace tally {

/// The observer of MaxError.
class LargestError {
 public:
  static constexpr const char* kName = "LargestError";
  static constexpr const auto& kInputs = internal::regression::kPairInputs;
  struct State {
    Number max = -std::numeric_limits<double>::infinity();
    void fields(Fields& f) { f("max", max, Merge::kMax); }
    bool has_nan() const;
  };

  LargestError(const NoOptions&, const MetricOptions& metric_options)
      : nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  NanPolicy nan_policy_;
};

/// The largest absolute error.
///
///     max_i |preds_i - target_i|
///
/// update(preds, target): of the same shape, any real dtypes.
/// Result: 0-dim float64, 0 or more; NaN before any update.
/// State: the maximum in float64, merged by max. Differences are computed in
/// float64, so that no dtype overflows.
/// NaN: propagates; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ and for NaN with
/// NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Not differentiable: for equal errors the gradient would depend on their
/// distribution over ranks.
///
/// Example:
///     MaxError worst;
///     worst.update(preds, target);
///     double value = worst.compute().item<double>();
class MaxError final : public MetricOf<MaxError, LargestError, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MaxError";
  static constexpr MetricSummary kSummary{
      "Largest absolute error.", "[0, inf)", "",
      "max error, largest error, l-infinity", R"(\max_n |\hat y_n - y_n|)"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MaxError, LargestError, at::Tensor>;

}  // namespace tally
