#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/fixed_rates.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kRecallAtFixedPrecisionSummary{
    "Highest recall at a minimum precision.", "[0, 1]", "",
    "recall at precision, r@p", R"(\max_t R(t) : P(t) \ge P_{min})"};
inline constexpr MetricSummary kPrecisionAtFixedRecallSummary{
    "Highest precision at a minimum recall.", "[0, 1]", "",
    "precision at recall, p@r", R"(\max_t P(t) : R(t) \ge R_{min})"};

}  // namespace internal

/// A recall and its threshold.
struct RecallAtPrecision {
  static constexpr auto kWanted = internal::classification::Rate::kRecall;
  static constexpr auto kHeld = internal::classification::Rate::kPrecision;

  at::Tensor recall;
  at::Tensor threshold;

  void visit(ResultParts& parts) {
    parts("recall", recall)("threshold", threshold);
  }
};

/// Options of RecallAtFixedPrecision: those of `Curve`, and the minimum
/// precision.
template <template <class> class Curve>
class RecallAtFixedPrecisionOptions
    : public internal::classification::FixedRateOptions<
          RecallAtFixedPrecisionOptions<Curve>, Curve> {
  using Base = internal::classification::FixedRateOptions<
      RecallAtFixedPrecisionOptions<Curve>, Curve>;

 public:
  using Base::Base;
  static constexpr const char* kLeast = "min_precision";

  /// In [0, 1]; required.
  RecallAtFixedPrecisionOptions& min_precision(double least) {
    this->least_ = least;
    return *this;
  }
  double min_precision() const { return this->least_; }
};

using BinaryRecallAtFixedPrecisionOptions =
    RecallAtFixedPrecisionOptions<BinaryCurveOptions>;
using MulticlassRecallAtFixedPrecisionOptions =
    RecallAtFixedPrecisionOptions<MulticlassCurveOptions>;
using MultilabelRecallAtFixedPrecisionOptions =
    RecallAtFixedPrecisionOptions<MultilabelCurveOptions>;

/// The best recall among the thresholds whose precision is high enough.
///
///     max R(t) over t with P(t) >= min_precision
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: recall and threshold, 0-dim. The threshold is a probability, one of
/// the given ones or a score; ties are broken by the highest precision. If no
/// precision is high enough, recall is 0 and the threshold +infinity: nothing
/// is predicted as positive.
///
/// State: all samples, concatenated; with thresholds a summed histogram.
///
/// Both are NaN before any update and without positives. NaN, weights and
/// invalid values: see BinaryCurve. Not differentiable. Source: own definition,
/// on the points of precision_recall_curve.
///
/// Example:
///     BinaryRecallAtFixedPrecision metric(0.9);
///     metric.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [recall, threshold] = metric.compute();
class BinaryRecallAtFixedPrecision final
    : public internal::classification::FixedRateMetric<
          BinaryRecallAtFixedPrecision, BinaryCurve, RecallAtPrecision,
          BinaryRecallAtFixedPrecisionOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "BinaryRecallAtFixedPrecision";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kRecallAtFixedPrecisionSummary.binary().needing(
          "min_precision=0.9");
};

/// BinaryRecallAtFixedPrecision of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// recall and threshold, [C]. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassRecallAtFixedPrecision metric({3, 0.9});
class MulticlassRecallAtFixedPrecision final
    : public internal::classification::FixedRateMetric<
          MulticlassRecallAtFixedPrecision, MulticlassCurve, RecallAtPrecision,
          MulticlassRecallAtFixedPrecisionOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MulticlassRecallAtFixedPrecision";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kRecallAtFixedPrecisionSummary.multiclass().needing(
          "num_classes=5, min_precision=0.9");
};

/// BinaryRecallAtFixedPrecision of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: recall and
/// threshold, [L].
///
/// Example:
///     MultilabelRecallAtFixedPrecision metric({5, 0.9});
class MultilabelRecallAtFixedPrecision final
    : public internal::classification::FixedRateMetric<
          MultilabelRecallAtFixedPrecision, MultilabelCurve, RecallAtPrecision,
          MultilabelRecallAtFixedPrecisionOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MultilabelRecallAtFixedPrecision";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kRecallAtFixedPrecisionSummary.multilabel().needing(
          "num_labels=5, min_precision=0.9");
};

/// A precision and its threshold.
struct PrecisionAtRecall {
  static constexpr auto kWanted = internal::classification::Rate::kPrecision;
  static constexpr auto kHeld = internal::classification::Rate::kRecall;

  at::Tensor precision;
  at::Tensor threshold;

  void visit(ResultParts& parts) {
    parts("precision", precision)("threshold", threshold);
  }
};

/// Options of PrecisionAtFixedRecall: those of `Curve`, and the minimum recall.
template <template <class> class Curve>
class PrecisionAtFixedRecallOptions
    : public internal::classification::FixedRateOptions<
          PrecisionAtFixedRecallOptions<Curve>, Curve> {
  using Base = internal::classification::FixedRateOptions<
      PrecisionAtFixedRecallOptions<Curve>, Curve>;

 public:
  using Base::Base;
  static constexpr const char* kLeast = "min_recall";

  /// In [0, 1]; required.
  PrecisionAtFixedRecallOptions& min_recall(double least) {
    this->least_ = least;
    return *this;
  }
  double min_recall() const { return this->least_; }
};

using BinaryPrecisionAtFixedRecallOptions =
    PrecisionAtFixedRecallOptions<BinaryCurveOptions>;
using MulticlassPrecisionAtFixedRecallOptions =
    PrecisionAtFixedRecallOptions<MulticlassCurveOptions>;
using MultilabelPrecisionAtFixedRecallOptions =
    PrecisionAtFixedRecallOptions<MultilabelCurveOptions>;

/// The best precision among the thresholds whose recall is high enough.
///
///     max P(t) over t with R(t) >= min_recall
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: precision and threshold, 0-dim. The threshold is a probability, one
/// of the given ones or a score; ties are broken by the highest recall.
///
/// State: all samples, concatenated; with thresholds a summed histogram.
///
/// Both are NaN before any update, without positives, and if no given threshold
/// has that recall. NaN, weights and invalid values: see BinaryCurve. Not
/// differentiable. Source: own definition, on the points of
/// precision_recall_curve.
///
/// Example:
///     BinaryPrecisionAtFixedRecall metric(0.9);
///     metric.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [precision, threshold] = metric.compute();
class BinaryPrecisionAtFixedRecall final
    : public internal::classification::FixedRateMetric<
          BinaryPrecisionAtFixedRecall, BinaryCurve, PrecisionAtRecall,
          BinaryPrecisionAtFixedRecallOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "BinaryPrecisionAtFixedRecall";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kPrecisionAtFixedRecallSummary.binary().needing(
          "min_recall=0.9");
};

/// BinaryPrecisionAtFixedRecall of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// precision and threshold, [C]. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassPrecisionAtFixedRecall metric({3, 0.9});
class MulticlassPrecisionAtFixedRecall final
    : public internal::classification::FixedRateMetric<
          MulticlassPrecisionAtFixedRecall, MulticlassCurve, PrecisionAtRecall,
          MulticlassPrecisionAtFixedRecallOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MulticlassPrecisionAtFixedRecall";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kPrecisionAtFixedRecallSummary.multiclass().needing(
          "num_classes=5, min_recall=0.9");
};

/// BinaryPrecisionAtFixedRecall of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: precision
/// and threshold, [L].
///
/// Example:
///     MultilabelPrecisionAtFixedRecall metric({5, 0.9});
class MultilabelPrecisionAtFixedRecall final
    : public internal::classification::FixedRateMetric<
          MultilabelPrecisionAtFixedRecall, MultilabelCurve, PrecisionAtRecall,
          MultilabelPrecisionAtFixedRecallOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MultilabelPrecisionAtFixedRecall";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kPrecisionAtFixedRecallSummary.multilabel().needing(
          "num_labels=5, min_recall=0.9");
};

extern template class MetricOf<BinaryRecallAtFixedPrecision, BinaryCurve,
                               RecallAtPrecision,
                               BinaryRecallAtFixedPrecisionOptions>;
extern template class MetricOf<MulticlassRecallAtFixedPrecision,
                               MulticlassCurve, RecallAtPrecision,
                               MulticlassRecallAtFixedPrecisionOptions>;
extern template class MetricOf<MultilabelRecallAtFixedPrecision,
                               MultilabelCurve, RecallAtPrecision,
                               MultilabelRecallAtFixedPrecisionOptions>;
extern template class MetricOf<BinaryPrecisionAtFixedRecall, BinaryCurve,
                               PrecisionAtRecall,
                               BinaryPrecisionAtFixedRecallOptions>;
extern template class MetricOf<MulticlassPrecisionAtFixedRecall,
                               MulticlassCurve, PrecisionAtRecall,
                               MulticlassPrecisionAtFixedRecallOptions>;
extern template class MetricOf<MultilabelPrecisionAtFixedRecall,
                               MultilabelCurve, PrecisionAtRecall,
                               MultilabelPrecisionAtFixedRecallOptions>;

}  // namespace tally
