#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/features/states/feature_samples.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ImprovedPrecisionRecall.
struct ImprovedPrecisionRecallOptions {
  /// A sample's neighborhood reaches to its k-th nearest other sample.
  TORCH_ARG(std::int64_t, k) = 3;

 public:
  void visit(OptionVisitor& v) {
    v("k", k_, OptionRole::kValue, internal::words::kK);
  }
  void validate(const char* metric) const;
};

/// Options of DensityCoverage.
struct DensityCoverageOptions {
  /// A sample's neighborhood reaches to its k-th nearest other sample.
  TORCH_ARG(std::int64_t, k) = 5;

 public:
  void visit(OptionVisitor& v) {
    v("k", k_, OptionRole::kValue, internal::words::kK);
  }
  void validate(const char* metric) const;
};

/// 0-dim float64.
struct PrecisionRecallOfFeatures {
  at::Tensor precision, recall;
  void visit(ResultParts& parts) {
    parts("precision", precision)("recall", recall);
  }
};
/// 0-dim float64.
struct DensityCoverageOfFeatures {
  at::Tensor density, coverage;
  void visit(ResultParts& parts) {
    parts("density", density)("coverage", coverage);
  }
};

/// Improved precision and recall of generated samples: the fraction of them
/// that are in the neighborhood of a real sample, and vice versa. A
/// neighborhood is a ball that reaches to the k-th nearest other sample of the
/// same kind.
///
///     precision = fraction of generated y with |x - y| <= r(x) for any real x
///     recall    = fraction of real x with |x - y| <= r(y) for any generated y
///
/// update(features, real, ids = {}): see FeatureSamples.
/// Result: {precision, recall}, 0-dim float64 in [0, 1]. NaN without samples,
/// and where a kind has no more than k.
/// State: see FeatureSamples, which keeps all features.
/// NaN, infinity: the result is NaN; NanPolicy::kIgnore skips rows with NaN.
/// Errors: see FeatureSamples; c10::ValueError for k below 1, and for real and
/// generated features of different D.
/// Not differentiable. Exactly the same for any split, processor and number of
/// threads.
/// Source: Kynkaanniemi et al. 2019; values equal those of torch-fidelity
/// 0.4.0.
///
/// Example:
///     ImprovedPrecisionRecall metric;
///     metric.update(at::randn({100, 16}), true);
///     metric.update(at::randn({100, 16}), false);
///     double recall = metric.compute().recall.item<double>();
class ImprovedPrecisionRecall final
    : public MetricOf<ImprovedPrecisionRecall, FeatureSamples,
                      PrecisionRecallOfFeatures,
                      ImprovedPrecisionRecallOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ImprovedPrecisionRecall";
  static constexpr MetricSummary kSummary{
      "Precision and recall of generated samples by nearest neighbors.",
      "[0, 1]",
      "",
      "improved precision and recall, precision recall of generative models, "
      "ipr",
      R"(\frac{1}{N} \sum_n [x_n \in \bigcup_m B(y_m, r_k(y_m))])",
      "Kynkaanniemi et al. 2019"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  PrecisionRecallOfFeatures evaluate(const State& state) const;
};

/// Density and coverage of generated samples: the mean number of real
/// neighborhoods that a generated sample is in, divided by k, and the fraction
/// of real neighborhoods that have any. Unlike precision, density is not
/// inflated by outliers with large neighborhoods.
///
///     density  = (pairs with |x - y| <= r(x)) / (k * generated samples)
///     coverage = fraction of real x with |x - y| <= r(x) for any generated y
///
/// update(features, real, ids = {}): see FeatureSamples.
/// Result: {density, coverage}, 0-dim float64; coverage is in [0, 1], density
/// may be above 1. All else as ImprovedPrecisionRecall.
/// Source: Naeem et al. 2020; values equal those of prdc 0.2, except that a
/// sample at exactly the distance r is inside.
///
/// Example:
///     DensityCoverage metric;
///     metric.update(at::randn({100, 16}), true);
///     metric.update(at::randn({100, 16}), false);
///     double density = metric.compute().density.item<double>();
class DensityCoverage final
    : public MetricOf<DensityCoverage, FeatureSamples,
                      DensityCoverageOfFeatures, DensityCoverageOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DensityCoverage";
  static constexpr MetricSummary kSummary{
      "Density and coverage of generated samples among real ones.",
      "coverage in [0, 1], density in [0, inf)",
      "",
      "density, coverage, prdc",
      R"(\frac{1}{k N} \sum_n |\{m : x_n \in B(y_m, r_k(y_m))\}|)",
      "Naeem et al. 2020"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  DensityCoverageOfFeatures evaluate(const State& state) const;
};

extern template class MetricOf<ImprovedPrecisionRecall, FeatureSamples,
                               PrecisionRecallOfFeatures,
                               ImprovedPrecisionRecallOptions>;
extern template class MetricOf<DensityCoverage, FeatureSamples,
                               DensityCoverageOfFeatures,
                               DensityCoverageOptions>;

}  // namespace tally
