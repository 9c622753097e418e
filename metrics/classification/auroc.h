#pragma once

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kAUROCSummary{
    "Area under the ROC curve.",
    "[0, 1]",
    "",
    "auroc, auc, roc auc, c-statistic, area under the roc curve",
    R"(\int_0^1 TPR\ d\,FPR)",
    "Fawcett 2006"};

}  // namespace internal

/// Options of BinaryAUROC.
///
/// Example:
///     BinaryAUROC auroc(BinaryAUROCOptions().thresholds(200));
struct BinaryAUROCOptions : BinaryCurveOptions<BinaryAUROCOptions> {
  /// In (0, 1]: only the area up to this false positive rate, standardized such
  /// that chance gives 0.5 and the best 1 (McClish).
  TORCH_ARG(std::optional<double>, max_fpr) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    BinaryCurveOptions::visit(v);
    v("max_fpr", max_fpr_, OptionRole::kValue, internal::words::kMaxFpr);
  }
  void validate(const char* metric) const;
};

/// Options of MulticlassAUROC.
///
/// Example:
///     MulticlassAUROC auroc(MulticlassAUROCOptions(10).thresholds(200));
struct MulticlassAUROCOptions
    : AveragedCurveOptions<MulticlassCurveOptions, MulticlassAUROCOptions,
                           Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// Options of MultilabelAUROC.
struct MultilabelAUROCOptions
    : AveragedCurveOptions<MultilabelCurveOptions, MultilabelAUROCOptions,
                           Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// The area under the ROC curve: the probability that a positive has a higher
/// score than a negative, with ties counting half.
///
///     AUROC = (#{s_p > s_n} + #{s_p = s_n} / 2) / (#p * #n)
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: 0-dim, in [0, 1].
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram, whose size does not depend on the data. The area is then
/// that of the binned scores, from (0, 0) to (1, 1) for any thresholds.
///
/// NaN before any update and unless both classes occur. NaN, weights and
/// invalid values: see BinaryCurve. Not differentiable.
///
/// Source: Hanley and McNeil 1982; max_fpr: McClish 1989, as in scikit-learn.
///
/// Example:
///     BinaryAUROC auroc;
///     auroc.update(model->forward(batch.data).sigmoid(), batch.target);
///     double area = auroc.compute().item<double>();
class BinaryAUROC final : public MetricOf<BinaryAUROC, BinaryCurve, at::Tensor,
                                          BinaryAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryAUROC";
  static constexpr MetricSummary kSummary = internal::kAUROCSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// The area under the ROC curve of each class against the rest, averaged.
///
///     AUROC_c = (#{s_p > s_n} + #{s_p = s_n} / 2) / (#p * #n)
///
/// over samples p of class c and n of the others, with scores s for c.
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// 0-dim, with kNone [C]; in [0, 1].
///
/// State: all samples, concatenated; with thresholds a summed histogram (see
/// BinaryAUROC).
///
/// A class without samples, or without others, is NaN in kNone and excluded
/// from averages, which are NaN if no class remains. A NaN in preds makes its
/// class and averages NaN, a NaN or infinite weight everything; with kIgnore
/// samples with a NaN are ignored, like those with weight 0. A row of logits
/// with NaN or +infinity has no softmax, and is treated as NaN. Weights below 0
/// and probabilities outside [0, 1] are a c10::ValueError. Not differentiable.
/// Source: Hanley and McNeil 1982; roc_auc_score of scikit-learn, "ovr".
///
/// Example:
///     MulticlassAUROC auroc(10);
///     auroc.update(model->forward(batch.data).softmax(1), batch.target);
///     double area = auroc.compute().item<double>();
class MulticlassAUROC final
    : public MetricOf<MulticlassAUROC, MulticlassCurve, at::Tensor,
                      MulticlassAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassAUROC";
  static constexpr MetricSummary kSummary =
      internal::kAUROCSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// BinaryAUROC of each label, averaged.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: 0-dim, with
/// kNone [L]; in [0, 1]. State, errors and NaN as in BinaryAUROC; a label
/// without both classes is excluded from averages, a NaN makes its label and
/// averages NaN.
///
/// Example:
///     MultilabelAUROC auroc(
///         MultilabelAUROCOptions(5).average(Average::kMicro));
class MultilabelAUROC final
    : public MetricOf<MultilabelAUROC, MultilabelCurve, at::Tensor,
                      MultilabelAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelAUROC";
  static constexpr MetricSummary kSummary =
      internal::kAUROCSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

extern template class MetricOf<BinaryAUROC, BinaryCurve, at::Tensor,
                               BinaryAUROCOptions>;
extern template class MetricOf<MulticlassAUROC, MulticlassCurve, at::Tensor,
                               MulticlassAUROCOptions>;
extern template class MetricOf<MultilabelAUROC, MultilabelCurve, at::Tensor,
                               MultilabelAUROCOptions>;

}  // namespace tally
