#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kCohenKappaSummary{
    "Agreement of predictions and targets beyond chance.",
    "(-inf, 1]",
    "",
    "kappa, quadratic weighted kappa, qwk, cohen",
    R"(\frac{p_o - p_e}{1 - p_e})",
    "Cohen 1960, 1968"};

}  // namespace internal

using BinaryCohenKappaOptions = BinaryStatScoresOptions;

/// The weight of a disagreement between classes i and j.
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

  /// Values other than kNone are for ordered classes; kQuadratic supports at
  /// most 46340 classes.
  TALLY_INHERITED_ARG(MulticlassCohenKappaOptions, KappaWeights,
                      weights) = KappaWeights::kNone;

 public:
  void visit(OptionVisitor& v) {
    MulticlassCountsOptions::visit(v);
    v("weights", weights_,
      weights_ == KappaWeights::kNone ? OptionRole::kValue : OptionRole::kState,
      "Weighting of disagreement between distant classes.");
  }
  void validate(const char* metric) const;
  internal::classification::ClassDistance distance() const {
    return static_cast<internal::classification::ClassDistance>(weights_);
  }
};

/// The agreement of predictions and targets beyond chance.
///
///     (po - pe) / (1 - pe)
/// po is the observed agreement, pe the agreement expected if both were drawn
/// independently. NaN if pe is 1: all predictions and targets are the same.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: at most 1, float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kCohenKappaSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/true, /*of_both_classes=*/true};

  at::Tensor evaluate(const State& state) const;
};

/// The agreement of predicted and target classes beyond chance.
///
///     1 - sum w_ij o_ij / sum w_ij e_ij
/// with the fraction o_ij of positions with target i that are predicted as j,
/// and the fraction e_ij expected if both were drawn independently. NaN if the
/// expected disagreement is 0. Computed from three counts per class, not a
/// confusion matrix.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: at most 1, float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kCohenKappaSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/true, /*of_both_classes=*/true};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryCohenKappa, BinaryCounts, at::Tensor,
                               BinaryCohenKappaOptions>;
extern template class MetricOf<MulticlassCohenKappa, MulticlassCounts,
                               at::Tensor, MulticlassCohenKappaOptions>;

}  // namespace tally
