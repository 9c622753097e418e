#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of ClusterAccuracy.
///
/// Example: `ClusterAccuracy accuracy(10);`
struct ClusterAccuracyOptions {
  ClusterAccuracyOptions() : num_classes_(std::nullopt) {}
  template <class Count, RequireCount<Count> = 0>
  ClusterAccuracyOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  /// Labels are 0 to num_classes - 1; others are errors. Default: none, any
  /// numbers are labels.
  TORCH_ARG(std::optional<std::int64_t>, num_classes);

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_,
      num_classes_ ? OptionRole::kState : OptionRole::kValue,
      "Labels are 0 to num_classes - 1; none: any numbers.");
  }
  void validate(const char* metric) const;
};

/// The accuracy of clusters under the names that suit them best.
///
///     max over assignments of clusters to classes of
///         sum over clusters of the samples of the assigned class / N
/// where no two clusters get the same class. There may be more clusters than
/// classes, whose samples then do not count as correct, or fewer.
///
/// update(preds, target): see MutualInfoScore, with which it shares its state
/// unless num_classes is set.
/// Result: 0-dim float64 in (0, 1]. NaN without samples.
/// The assignment is exact, in integers, and takes memory for the pairs that
/// occur only.
/// Errors: as in MutualInfoScore; c10::ValueError for labels out of range, if
/// num_classes is set. Not differentiable.
/// Source: as scipy.optimize.linear_sum_assignment of the counts gives it.
///
/// Example:
///     ClusterAccuracy accuracy;
///     accuracy.update(at::randint(5, {32}, at::kLong),
///                     at::randint(3, {32}, at::kLong));
///     double value = accuracy.compute().item<double>();
class ClusterAccuracy final
    : public MetricOf<ClusterAccuracy, LabelPairs, at::Tensor,
                      ClusterAccuracyOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ClusterAccuracy";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary{
      "Accuracy under the best assignment of clusters to classes.",
      "[0, 1]",
      "",
      "clustering accuracy, hungarian accuracy",
      R"(\max_\pi \frac{1}{N} \sum_n [\pi(\hat y_n) = y_n])",
      "Kuhn 1955"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<ClusterAccuracy, LabelPairs, at::Tensor,
                               ClusterAccuracyOptions>;

}  // namespace tally
