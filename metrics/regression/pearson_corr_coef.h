#pragma once

#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of PearsonCorrCoef.
///
/// Example: `PearsonCorrCoef pearson(3);`
struct PearsonCorrCoefOptions {
  PearsonCorrCoefOptions(std::int64_t num_outputs = 1)
      : num_outputs_(num_outputs) {}
  /// With more than one, inputs are [N, num_outputs], and so many values come
  /// out. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);

 public:
  void visit(OptionVisitor& v) { v("num_outputs", num_outputs_); }
  void validate(const char* metric) const;
};

/// The accumulator of PearsonCorrCoef: means and sums of squared and multiplied
/// deviations from them.
class JointMoments {
 public:
  static constexpr const char* kName = "JointMoments";
  using Options = PearsonCorrCoefOptions;
  struct State {
    std::int64_t total = 0;
    // Of one output.
    Number mean_preds, mean_target;
    Number squares_preds, squares_target, products;
    // The same of several, as [5, num_outputs].
    at::Tensor outputs;

    void fields(Fields& f) {
      f("total", total)("mean_preds", mean_preds)("mean_target", mean_target);
      f("squares_preds", squares_preds)("squares_target", squares_target);
      f("products", products)("outputs", outputs);
    }
    static State merge(const State& a, const State& b);
  };

  JointMoments(const Options& options, const MetricOptions& metric_options)
      : num_outputs_(options.num_outputs()),
        nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  State moments(const at::Tensor& preds, const at::Tensor& target) const;

  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
};

/// Pearson's correlation coefficient.
///
///     sum_i (p_i - mean p)(t_i - mean t)
///         / sqrt(sum_i (p_i - mean p)^2 sum_i (t_i - mean t)^2)
///
/// update(preds, target): of one shape, any real dtypes; each pair of elements
/// is a sample. With num_outputs > 1: [N, num_outputs], each row is one.
/// Result: 0-dim, or [num_outputs]; float64 in [-1, 1]. NaN for fewer than two
/// samples and for inputs that are constant.
/// State: float64 means and sums about them, merged by the formula of Chan,
/// Golub and LeVeque (1983): large offsets cost no precision.
/// NaN or infinity: propagates into its output; NanPolicy::kIgnore leaves out
/// samples with a NaN.
/// Errors: c10::ValueError for shapes that differ or do not fit num_outputs,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// inputs.
/// Differentiable by preds and target; without variance the gradient is 0.
///
/// Example:
///     PearsonCorrCoef pearson;
///     pearson.update(preds, target);
///     double value = pearson.compute().item<double>();
class PearsonCorrCoef final
    : public MetricOf<PearsonCorrCoef, JointMoments, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PearsonCorrCoef";
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
