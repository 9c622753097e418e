#pragma once

#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MeanSquaredError.
///
/// Example: `MeanSquaredError rmse(MeanSquaredErrorOptions().squared(false));`
struct MeanSquaredErrorOptions {
  /// The mean of the squares; false: its root (RMSE). Default: true.
  TORCH_ARG(bool, squared) = true;
  /// With more than one, inputs are [N, num_outputs], and so many values come
  /// out. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("squared", squared_, OptionRole::kValue);
    v("num_outputs", num_outputs_);
  }
  void validate(const char* metric) const;
};

/// The accumulator of MeanSquaredError.
class SquaredError {
 public:
  static constexpr const char* kName = "SquaredError";
  using Options = MeanSquaredErrorOptions;
  struct State {
    Number sum;              // of one output
    at::Tensor output_sums;  // [num_outputs] of several
    std::int64_t total = 0;
    void fields(Fields& f) {
      f("sum", sum)("output_sums", output_sums)("total", total);
    }
  };

  SquaredError(const Options& options, const MetricOptions& metric_options)
      : num_outputs_(options.num_outputs()),
        nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  State sums(const at::Tensor& preds, const at::Tensor& target) const;

  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
};

/// The mean squared error, or its root.
///
///     1/N sum_i (preds_i - target_i)^2
///
/// update(preds, target): of one shape, any real dtypes; each pair of elements
/// is a sample. With num_outputs > 1: [N, num_outputs], each row is one.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: sums of squares in float64 and the number of samples, merged by
/// addition. Differences are taken in float64: no dtype wraps.
/// NaN: propagates into its output; NanPolicy::kIgnore leaves the sample out.
/// Errors: c10::ValueError for shapes that differ or do not fit num_outputs,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// inputs.
/// Differentiable by preds and target. The gradient of the root is 0 where the
/// error is.
///
/// Example:
///     MeanSquaredError mse;
///     mse.update(preds, target);
///     double value = mse.compute().item<double>();
class MeanSquaredError final
    : public MetricOf<MeanSquaredError, SquaredError, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanSquaredError";
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
