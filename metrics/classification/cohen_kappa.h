#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/options/inherited_arg.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryCohenKappaOptions = BinaryStatScoresOptions;

/// How much two different classes disagree.
enum class KappaWeights {
  kNone,       ///< 1
  kLinear,     ///< |i - j|
  kQuadratic,  ///< (i - j)^2
};

template <>
struct EnumNames<KappaWeights> {
  static constexpr const char* kNames[] = {"none", "linear", "quadratic"};
};

/// Options of MulticlassCohenKappa.
///
/// Example:
///     MulticlassCohenKappa kappa(
///         MulticlassCohenKappaOptions(5).weights(KappaWeights::kQuadratic));
struct MulticlassCohenKappaOptions
    : MulticlassCountsOptions<MulticlassCohenKappaOptions> {
  using MulticlassCountsOptions::MulticlassCountsOptions;

  /// Others than kNone are for classes that have an order; kQuadratic is for at
  /// most 46340 classes. Default: kNone.
  TALLY_INHERITED_ARG(MulticlassCohenKappaOptions, KappaWeights,
                      weights) = KappaWeights::kNone;

 public:
  void visit(OptionVisitor& v) {
    MulticlassCountsOptions::visit(v);
    v("weights", weights_,
      weights_ == KappaWeights::kNone ? OptionRole::kValue
                                      : OptionRole::kState);
  }
  void validate(const char* metric) const;
  internal::classification::ClassDistance distance() const {
    return static_cast<internal::classification::ClassDistance>(weights_);
  }
};

/// How far predictions and targets agree beyond chance.
///
///     (po - pe) / (1 - pe)
/// po is the observed agreement, pe the agreement expected if both were drawn
/// independently. NaN where pe is 1: predictions and targets are all the same.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: at most 1, float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.cohen_kappa_score.
///
/// Example:
///     BinaryCohenKappa kappa;
///     kappa.update(preds, target);
///     at::Tensor value = kappa.compute();
class BinaryCohenKappa final
    : public MetricOf<BinaryCohenKappa, BinaryCounts, at::Tensor,
                      BinaryCohenKappaOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryCohenKappa";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How far predicted and target classes agree beyond chance.
///
///     1 - sum w_ij o_ij / sum w_ij e_ij
/// of the shares o_ij of targets i that are predicted to be j, and those e_ij
/// that are expected if both were drawn independently.
/// NaN where all expected disagreement is 0. It takes three counts per class,
/// not a confusion matrix.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: at most 1, float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.cohen_kappa_score.
///
/// Example:
///     MulticlassCohenKappa kappa(10);
///     kappa.update(preds, target);
///     at::Tensor value = kappa.compute();
class MulticlassCohenKappa final
    : public MetricOf<MulticlassCohenKappa, MulticlassCounts, at::Tensor,
                      MulticlassCohenKappaOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassCohenKappa";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
