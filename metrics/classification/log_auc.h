#pragma once

#include <vector>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kLogAUCSummary{
    "Area under the ROC curve on a logarithmic false positive axis.",
    "[0, 1]",
    "",
    "log auc, early enrichment",
    R"(\frac{\int_{a}^{b} TPR\ d \log_{10} FPR}{\log_{10} b - \log_{10} a})",
    "Mysinger and Shoichet 2010"};

}  // namespace internal

/// `Base` and the range of the false positive rate.
template <class Base, class Derived>
class FprRangeOptions : public Base {
 public:
  using Base::Base;

  /// Two numbers, 0 < low < high <= 1. Default: 0.001 and 0.1.
  TALLY_INHERITED_ARG(Derived, std::vector<double>, fpr_range) = {0.001, 0.1};

 public:
  void visit(OptionVisitor& v) {
    Base::visit(v);
    v("fpr_range", fpr_range_, OptionRole::kValue,
      "Range of false positive rates, in (0, 1].");
  }
  void validate(const char* metric) const {
    Base::validate(metric);
    TORCH_CHECK_VALUE(fpr_range_.size() == 2 && fpr_range_[0] > 0 &&
                          fpr_range_[0] < fpr_range_[1] && fpr_range_[1] <= 1,
                      metric,
                      ": expected fpr_range of two ascending numbers in "
                      "(0, 1], got ",
                      c10::ArrayRef<double>(fpr_range_));
  }
};

/// Options of BinaryLogAUC.
struct BinaryLogAUCOptions
    : FprRangeOptions<BinaryCurveOptions<BinaryLogAUCOptions>,
                      BinaryLogAUCOptions> {};

/// Options of MulticlassLogAUC.
struct MulticlassLogAUCOptions
    : FprRangeOptions<
          AveragedCurveOptions<MulticlassCurveOptions, MulticlassLogAUCOptions,
                               Average::kMacro>,
          MulticlassLogAUCOptions> {
  using FprRangeOptions::FprRangeOptions;
};

/// Options of MultilabelLogAUC.
struct MultilabelLogAUCOptions
    : FprRangeOptions<
          AveragedCurveOptions<MultilabelCurveOptions, MultilabelLogAUCOptions,
                               Average::kMacro>,
          MultilabelLogAUCOptions> {
  using FprRangeOptions::FprRangeOptions;
};

/// The area under the ROC curve over the logarithm of the false positive rate,
/// within a range of it: early enrichment of positives.
///
///     LogAUC = integral from low to high of TPR d(log FPR) / log(high / low)
///
/// with points of the curve interpolated linearly over FPR. Chance gives (high
/// - low) / ln(high / low), 0.0215 for the default range.
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: 0-dim, in [0, 1].
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram, and the curve is that of its bins.
///
/// NaN before any update and unless both classes occur. NaN, weights and
/// invalid values: see BinaryCurve. Not differentiable. Source: Mysinger and
/// Shoichet 2010; they use the range from 0.001 to 1, and subtract chance.
///
/// Example:
///     BinaryLogAUC area(BinaryLogAUCOptions().fpr_range({0.01, 0.5}));
class BinaryLogAUC final : public MetricOf<BinaryLogAUC, BinaryCurve,
                                           at::Tensor, BinaryLogAUCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryLogAUC";
  static constexpr MetricSummary kSummary = internal::kLogAUCSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryLogAUC of each class against the rest, averaged.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// 0-dim, with kNone [C]. Classes without samples, or without others, are NaN
/// and are excluded from averages; NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassLogAUC area(10);
class MulticlassLogAUC final
    : public MetricOf<MulticlassLogAUC, MulticlassCurve, at::Tensor,
                      MulticlassLogAUCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassLogAUC";
  static constexpr MetricSummary kSummary =
      internal::kLogAUCSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryLogAUC of each label, averaged.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: 0-dim, with
/// kNone [L]. Labels without both classes are NaN and are excluded from
/// averages.
///
/// Example:
///     MultilabelLogAUC area(5);
class MultilabelLogAUC final
    : public MetricOf<MultilabelLogAUC, MultilabelCurve, at::Tensor,
                      MultilabelLogAUCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelLogAUC";
  static constexpr MetricSummary kSummary =
      internal::kLogAUCSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryLogAUC, BinaryCurve, at::Tensor,
                               BinaryLogAUCOptions>;
extern template class MetricOf<MulticlassLogAUC, MulticlassCurve, at::Tensor,
                               MulticlassLogAUCOptions>;
extern template class MetricOf<MultilabelLogAUC, MultilabelCurve, at::Tensor,
                               MultilabelLogAUCOptions>;

}  // namespace tally
