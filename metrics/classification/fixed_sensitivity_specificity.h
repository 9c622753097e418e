#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/fixed_rates.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kSensitivityAtSpecificitySummary{
    "Highest sensitivity at a minimum specificity.", "[0, 1]", "",
    "tpr at fpr, recall at specificity",
    R"(\max_t TPR(t) : TNR(t) \ge TNR_{min})"};
inline constexpr MetricSummary kSpecificityAtSensitivitySummary{
    "Highest specificity at a minimum sensitivity.", "[0, 1]", "",
    "fpr95, fpr at tpr, specificity at recall",
    R"(\max_t TNR(t) : TPR(t) \ge TPR_{min})"};

}  // namespace internal

/// A sensitivity and its threshold.
struct SensitivityAtThreshold {
  static constexpr auto kWanted = internal::classification::Rate::kRecall;
  static constexpr auto kHeld = internal::classification::Rate::kSpecificity;

  at::Tensor sensitivity;
  at::Tensor threshold;

  void visit(ResultParts& parts) {
    parts("sensitivity", sensitivity)("threshold", threshold);
  }
};

/// Options of SensitivityAtSpecificity: those of `Curve`, and the minimum
/// specificity.
template <template <class> class Curve>
class SensitivityAtSpecificityOptions
    : public internal::classification::FixedRateOptions<
          SensitivityAtSpecificityOptions<Curve>, Curve> {
  using Base = internal::classification::FixedRateOptions<
      SensitivityAtSpecificityOptions<Curve>, Curve>;

 public:
  using Base::Base;
  static constexpr const char* kLeast = "min_specificity";

  /// In [0, 1]; required.
  SensitivityAtSpecificityOptions& min_specificity(double least) {
    this->least_ = least;
    return *this;
  }
  double min_specificity() const { return this->least_; }
};

using BinarySensitivityAtSpecificityOptions =
    SensitivityAtSpecificityOptions<BinaryCurveOptions>;
using MulticlassSensitivityAtSpecificityOptions =
    SensitivityAtSpecificityOptions<MulticlassCurveOptions>;
using MultilabelSensitivityAtSpecificityOptions =
    SensitivityAtSpecificityOptions<MultilabelCurveOptions>;

/// The best sensitivity (recall of the positives) among the thresholds whose
/// specificity (recall of the negatives) is high enough.
///
///     max TPR(t) over t with 1 - FPR(t) >= min_specificity
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: sensitivity and threshold, 0-dim. The threshold is a probability,
/// one of the given ones or a score; ties are broken by the highest
/// specificity. If no specificity is high enough, sensitivity is 0 and the
/// threshold +infinity: nothing is predicted as positive.
///
/// State: all samples, concatenated; with thresholds a summed histogram.
///
/// Both are NaN before any update and unless both classes occur. NaN, weights
/// and invalid values: see BinaryCurve. Not differentiable. Source: own
/// definition, on the points of roc_curve.
///
/// Example:
///     BinarySensitivityAtSpecificity metric(0.9);
///     metric.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [sensitivity, threshold] = metric.compute();
class BinarySensitivityAtSpecificity final
    : public internal::classification::FixedRateMetric<
          BinarySensitivityAtSpecificity, BinaryCurve, SensitivityAtThreshold,
          BinarySensitivityAtSpecificityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "BinarySensitivityAtSpecificity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSensitivityAtSpecificitySummary.binary().needing(
          "min_specificity=0.9");
};

/// BinarySensitivityAtSpecificity of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// sensitivity and threshold, [C]. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassSensitivityAtSpecificity metric({3, 0.9});
class MulticlassSensitivityAtSpecificity final
    : public internal::classification::FixedRateMetric<
          MulticlassSensitivityAtSpecificity, MulticlassCurve,
          SensitivityAtThreshold, MulticlassSensitivityAtSpecificityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MulticlassSensitivityAtSpecificity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSensitivityAtSpecificitySummary.multiclass().needing(
          "num_classes=5, min_specificity=0.9");
};

/// BinarySensitivityAtSpecificity of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: sensitivity
/// and threshold, [L].
///
/// Example:
///     MultilabelSensitivityAtSpecificity metric({5, 0.9});
class MultilabelSensitivityAtSpecificity final
    : public internal::classification::FixedRateMetric<
          MultilabelSensitivityAtSpecificity, MultilabelCurve,
          SensitivityAtThreshold, MultilabelSensitivityAtSpecificityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MultilabelSensitivityAtSpecificity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSensitivityAtSpecificitySummary.multilabel().needing(
          "num_labels=5, min_specificity=0.9");
};

/// A specificity and its threshold.
struct SpecificityAtThreshold {
  static constexpr auto kWanted = internal::classification::Rate::kSpecificity;
  static constexpr auto kHeld = internal::classification::Rate::kRecall;

  at::Tensor specificity;
  at::Tensor threshold;

  void visit(ResultParts& parts) {
    parts("specificity", specificity)("threshold", threshold);
  }
};

/// Options of SpecificityAtSensitivity: those of `Curve`, and the minimum
/// sensitivity.
template <template <class> class Curve>
class SpecificityAtSensitivityOptions
    : public internal::classification::FixedRateOptions<
          SpecificityAtSensitivityOptions<Curve>, Curve> {
  using Base = internal::classification::FixedRateOptions<
      SpecificityAtSensitivityOptions<Curve>, Curve>;

 public:
  using Base::Base;
  static constexpr const char* kLeast = "min_sensitivity";

  /// In [0, 1]; required.
  SpecificityAtSensitivityOptions& min_sensitivity(double least) {
    this->least_ = least;
    return *this;
  }
  double min_sensitivity() const { return this->least_; }
};

using BinarySpecificityAtSensitivityOptions =
    SpecificityAtSensitivityOptions<BinaryCurveOptions>;
using MulticlassSpecificityAtSensitivityOptions =
    SpecificityAtSensitivityOptions<MulticlassCurveOptions>;
using MultilabelSpecificityAtSensitivityOptions =
    SpecificityAtSensitivityOptions<MultilabelCurveOptions>;

/// The best specificity (recall of the negatives) among the thresholds whose
/// sensitivity (recall of the positives) is high enough.
///
///     max (1 - FPR(t)) over t with TPR(t) >= min_sensitivity
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: specificity and threshold, 0-dim. The threshold is a probability,
/// one of the given ones or a score; ties are broken by the highest
/// sensitivity.
///
/// State: all samples, concatenated; with thresholds a summed histogram.
///
/// Both are NaN before any update, unless both classes occur, and if no given
/// threshold has that sensitivity. NaN, weights and invalid values: see
/// BinaryCurve. Not differentiable. Source: own definition, on the points of
/// roc_curve.
///
/// Example:
///     BinarySpecificityAtSensitivity metric(0.9);
///     metric.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [specificity, threshold] = metric.compute();
class BinarySpecificityAtSensitivity final
    : public internal::classification::FixedRateMetric<
          BinarySpecificityAtSensitivity, BinaryCurve, SpecificityAtThreshold,
          BinarySpecificityAtSensitivityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "BinarySpecificityAtSensitivity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSpecificityAtSensitivitySummary.binary().needing(
          "min_sensitivity=0.9");
};

/// BinarySpecificityAtSensitivity of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// specificity and threshold, [C]. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassSpecificityAtSensitivity metric({3, 0.9});
class MulticlassSpecificityAtSensitivity final
    : public internal::classification::FixedRateMetric<
          MulticlassSpecificityAtSensitivity, MulticlassCurve,
          SpecificityAtThreshold, MulticlassSpecificityAtSensitivityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MulticlassSpecificityAtSensitivity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSpecificityAtSensitivitySummary.multiclass().needing(
          "num_classes=5, min_sensitivity=0.9");
};

/// BinarySpecificityAtSensitivity of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: specificity
/// and threshold, [L].
///
/// Example:
///     MultilabelSpecificityAtSensitivity metric({5, 0.9});
class MultilabelSpecificityAtSensitivity final
    : public internal::classification::FixedRateMetric<
          MultilabelSpecificityAtSensitivity, MultilabelCurve,
          SpecificityAtThreshold, MultilabelSpecificityAtSensitivityOptions> {
 public:
  using FixedRateMetric::FixedRateMetric;
  static constexpr const char* kName = "MultilabelSpecificityAtSensitivity";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kSpecificityAtSensitivitySummary.multilabel().needing(
          "num_labels=5, min_sensitivity=0.9");
};

extern template class MetricOf<BinarySensitivityAtSpecificity, BinaryCurve,
                               SensitivityAtThreshold,
                               BinarySensitivityAtSpecificityOptions>;
extern template class MetricOf<MulticlassSensitivityAtSpecificity,
                               MulticlassCurve, SensitivityAtThreshold,
                               MulticlassSensitivityAtSpecificityOptions>;
extern template class MetricOf<MultilabelSensitivityAtSpecificity,
                               MultilabelCurve, SensitivityAtThreshold,
                               MultilabelSensitivityAtSpecificityOptions>;
extern template class MetricOf<BinarySpecificityAtSensitivity, BinaryCurve,
                               SpecificityAtThreshold,
                               BinarySpecificityAtSensitivityOptions>;
extern template class MetricOf<MulticlassSpecificityAtSensitivity,
                               MulticlassCurve, SpecificityAtThreshold,
                               MulticlassSpecificityAtSensitivityOptions>;
extern template class MetricOf<MultilabelSpecificityAtSensitivity,
                               MultilabelCurve, SpecificityAtThreshold,
                               MultilabelSpecificityAtSensitivityOptions>;

}  // namespace tally
