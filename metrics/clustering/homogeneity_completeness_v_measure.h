#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Whether clusters hold samples of a single class only.
///
///     1 - H(target | preds) / H(target)
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; exactly 1 where each predicted cluster has
/// one class, also if there is one class only. NaN without samples.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.homogeneity_score (Rosenberg and Hirschberg 2007).
///
/// Example:
///     HomogeneityScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class HomogeneityScore final
    : public MetricOf<HomogeneityScore, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "HomogeneityScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfInformation;
  static constexpr MetricSummary kSummary{
      "Whether clusters hold samples of a single class.",
      "[0, 1]",
      "",
      "homogeneity",
      R"(1 - \frac{H(C | K)}{H(C)})",
      "Rosenberg and Hirschberg 2007"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Whether all samples of a class are in the same cluster.
///
///     1 - H(preds | target) / H(preds)
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; exactly 1 where each class has one
/// predicted cluster, also if there is one cluster only. NaN without samples.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.completeness_score.
///
/// Example:
///     CompletenessScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class CompletenessScore final
    : public MetricOf<CompletenessScore, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CompletenessScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfInformation;
  static constexpr MetricSummary kSummary{
      "Whether samples of a class are in a single cluster.",
      "[0, 1]",
      "",
      "completeness",
      R"(1 - \frac{H(K | C)}{H(K)})",
      "Rosenberg and Hirschberg 2007"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Options of VMeasureScore.
///
/// Example: `VMeasureScore score(0.5);`
struct VMeasureScoreOptions {
  VMeasureScoreOptions(double beta = 1) : beta_(beta) {}
  /// Weight of completeness relative to homogeneity, above 0. Default: 1.
  TORCH_ARG(double, beta);

 public:
  void visit(OptionVisitor& v) {
    v("beta", beta_, OptionRole::kValue, "Weight of completeness, above 0.");
  }
  void validate(const char* metric) const;
};

/// The weighted harmonic mean of homogeneity and completeness.
///
///     (1 + beta) homogeneity completeness / (beta homogeneity + completeness)
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; 0 where both are 0. NaN without samples.
/// Errors: as in MutualInfoScore; c10::ValueError for beta of 0 or less. Not
/// differentiable.
/// As sklearn.metrics.v_measure_score.
///
/// Example:
///     VMeasureScore score(/*beta=*/2);
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class VMeasureScore final : public MetricOf<VMeasureScore, LabelPairs,
                                            at::Tensor, VMeasureScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "VMeasureScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfInformation;
  static constexpr MetricSummary kSummary{
      "The harmonic mean of homogeneity and completeness.",
      "[0, 1]",
      "",
      "v-measure",
      R"(\frac{(1 + \beta) h c}{\beta h + c})",
      "Rosenberg and Hirschberg 2007"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<HomogeneityScore, LabelPairs, at::Tensor>;
extern template class MetricOf<CompletenessScore, LabelPairs, at::Tensor>;
extern template class MetricOf<VMeasureScore, LabelPairs, at::Tensor,
                               VMeasureScoreOptions>;

}  // namespace tally
