#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// How the disparities of samples become one.
enum class DisparityReduction {
  kMean,  ///< their mean; NaN before any update
  kSum,   ///< their sum; 0 before any update
};

template <>
struct EnumNames<DisparityReduction> {
  static constexpr const char* kNames[] = {"mean", "sum"};
};

/// Options of ProcrustesDisparity.
///
/// Example:
///     ProcrustesDisparity disparity(
///         ProcrustesDisparityOptions().reflection(false));
struct ProcrustesDisparityOptions {
  TORCH_ARG(DisparityReduction, reduction) = DisparityReduction::kMean;
  /// Whether points may be mirrored, besides being moved, scaled and turned.
  /// Default: true, as in SciPy and TorchMetrics: a mirror image is a perfect
  /// match.
  TORCH_ARG(bool, reflection) = true;

 public:
  void visit(OptionVisitor& v) {
    v("reduction", reduction_, OptionRole::kValue,
      internal::words::kReducedSamples);
    v("reflection", reflection_, "Whether points may be mirrored.");
  }
};

/// The observer of ProcrustesDisparity.
class Disparities {
 public:
  static constexpr const char* kName = "Disparities";
  static constexpr InputInfo kInputs[] = {
      {"point_cloud1", InputKind::kReal, "real [N, M, D]"},
      {"point_cloud2", InputKind::kReal, "real [N, M, D]"}};
  using Options = ProcrustesDisparityOptions;
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };

  Disparities(const Options& options, const MetricOptions& metric_options)
      : reflection_(options.reflection()),
        nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& point_cloud1,
                const at::Tensor& point_cloud2) const;

 private:
  bool reflection_;
  NanPolicy nan_policy_;
};

/// How little points look like others, wherever, however large and however
/// turned both are.
///
///     1 - (sum of the singular values of A^T B)^2
///
/// A and B being the points of a sample less their mean, divided by the root of
/// the sum of their squares. Without `reflection` the least singular value is
/// subtracted where det(A^T B) is below 0.
/// update(point_cloud1, point_cloud2): [N, M, D], M points in D dimensions for
/// each of N samples; any real dtypes.
/// Result: 0-dim float64, in [0, 1] for each sample; without updates a mean is
/// NaN and a sum 0.
/// State: the sum in float64 and the number of samples, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::ValueError for other shapes, for a sample whose points are all
/// equal (which has no shape), and for NaN with NanPolicy::kError;
/// c10::TypeError for complex or sparse inputs.
/// Differentiable by both inputs, also where singular values are equal.
/// Source: Gower 1975.
///
/// Example:
///     ProcrustesDisparity disparity;
///     disparity.update(at::randn({10, 50, 2}), at::randn({10, 50, 2}));
///     double value = disparity.compute().item<double>();
class ProcrustesDisparity final
    : public MetricOf<ProcrustesDisparity, Disparities, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ProcrustesDisparity";
  static constexpr MetricSummary kSummary{
      "Squared distance of points after translation, scaling and rotation.",
      "[0, 1] for each sample",
      "",
      "procrustes",
      R"(\min_{s, R, t} \|x - (s y R + t)\|^2)",
      "Gower 1975"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<ProcrustesDisparity, Disparities, at::Tensor>;

}  // namespace tally
