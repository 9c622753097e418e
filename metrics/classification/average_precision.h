#pragma once

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kAveragePrecisionSummary{
    "Mean precision at the positives' scores.", "[0, 1]", "",
    "auprc, pr auc, ap, area under the precision-recall curve",
    R"(\sum_k (R_k - R_{k-1}) P_k)"};

}  // namespace internal

/// Options of BinaryAveragePrecision.
struct BinaryAveragePrecisionOptions
    : BinaryCurveOptions<BinaryAveragePrecisionOptions> {};

/// Options of MulticlassAveragePrecision.
struct MulticlassAveragePrecisionOptions
    : AveragedCurveOptions<MulticlassCurveOptions,
                           MulticlassAveragePrecisionOptions, Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// Options of MultilabelAveragePrecision.
struct MultilabelAveragePrecisionOptions
    : AveragedCurveOptions<MultilabelCurveOptions,
                           MultilabelAveragePrecisionOptions, Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// The mean precision at the score of each positive: the area under the
/// precision-recall curve as a step function.
///
///     AP = sum over thresholds t, descending, of (R_t - R_t') * P_t
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: 0-dim, in [0, 1].
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram. The value is then that of the binned scores, up to recall
/// 1 for any thresholds.
///
/// NaN before any update and without positives. NaN, weights and invalid
/// values: see BinaryCurve. Not differentiable.
///
/// Source: average_precision_score of scikit-learn.
///
/// Example:
///     BinaryAveragePrecision precision;
///     precision.update(model->forward(batch.data).sigmoid(), batch.target);
///     double mean = precision.compute().item<double>();
class BinaryAveragePrecision final
    : public MetricOf<BinaryAveragePrecision, BinaryCurve, at::Tensor,
                      BinaryAveragePrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryAveragePrecision";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// BinaryAveragePrecision of each class against the rest, averaged.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// 0-dim, with kNone [C]; in [0, 1]. Classes that do not occur are NaN and are
/// excluded from averages, which are NaN if none remains; NaN and weights as in
/// MulticlassAUROC.
///
/// Example:
///     MulticlassAveragePrecision precision(10);
///     precision.update(preds.softmax(1), target);
class MulticlassAveragePrecision final
    : public MetricOf<MulticlassAveragePrecision, MulticlassCurve, at::Tensor,
                      MulticlassAveragePrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassAveragePrecision";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryAveragePrecision of each label, averaged.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: 0-dim, with
/// kNone [L]; in [0, 1]. Labels without positives are NaN and are excluded from
/// averages.
///
/// Example:
///     MultilabelAveragePrecision precision(5);
class MultilabelAveragePrecision final
    : public MetricOf<MultilabelAveragePrecision, MultilabelCurve, at::Tensor,
                      MultilabelAveragePrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelAveragePrecision";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryAveragePrecision, BinaryCurve, at::Tensor,
                               BinaryAveragePrecisionOptions>;
extern template class MetricOf<MulticlassAveragePrecision, MulticlassCurve,
                               at::Tensor, MulticlassAveragePrecisionOptions>;
extern template class MetricOf<MultilabelAveragePrecision, MultilabelCurve,
                               at::Tensor, MultilabelAveragePrecisionOptions>;

}  // namespace tally
