#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/counts/detected_pairs.h"
#include "tally/metrics/detection/options/count_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of DetectionPrecision, DetectionRecall and DetectionF1Score.
///
/// Example:
///     DetectionF1Score f1(
///         DetectionRateOptions(3).score_threshold(0.25).average(
///             Average::kNone));
struct DetectionRateOptions : DetectionCountOptions<DetectionRateOptions> {
  using DetectionCountOptions::DetectionCountOptions;

  /// kMacro and kWeighted average over the classes that occur, as objects or
  /// detections. Default: kMacro.
  TALLY_INHERITED_ARG(DetectionRateOptions, Average, average) = Average::kMacro;
  /// The value of a class if the metric divides by zero: 0, 1, or NaN, which
  /// also excludes the class from averages.
  TALLY_INHERITED_ARG(DetectionRateOptions, double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    DetectionCountOptions::visit(v);
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const;
  Dimensions dimensions() const {
    if (average_ != Average::kNone) return {};
    return {Dimension::kClass};
  }
};

using DetectionPrecisionOptions = DetectionRateOptions;
using DetectionRecallOptions = DetectionRateOptions;
using DetectionF1ScoreOptions = DetectionRateOptions;

/// The fraction of detections that found an object of their class.
///
///     tp / (tp + fp)
/// tp are pairs of one class, as DetectionConfusionMatrix makes them; all other
/// detections of at least score_threshold are false positives. It is
/// zero_division for a class that is not detected.
///
/// update(preds, target): see DetectionConfusionMatrix, also for crowds and
/// errors.
/// Result: float64 in [0, 1], of shape [], or [C] with kNone; NaN without any
/// objects and detections. State: that of DetectionConfusionMatrix.
/// Not differentiable. As the fields of supervision 0.31.2's ConfusionMatrix.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     DetectionPrecision precision(10);
///     precision.update(std::vector<ImageObjects>{found},
///                      std::vector<ImageObjects>{annotated});
///     double value = precision.compute().item<double>();
class DetectionPrecision final
    : public MetricOf<DetectionPrecision, DetectedPairs, at::Tensor,
                      DetectionRateOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DetectionPrecision";
  static constexpr MetricSummary kSummary{
      "Fraction of detections that found an object, at a score and an IoU.",
      "[0, 1]", "num_classes=5",
      "precision of detections, precision at a confidence, yolo",
      R"(\frac{TP}{TP + FP})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The fraction of objects that a detection of their class found.
///
///     tp / (tp + fn)
/// tp are pairs of one class, as DetectionConfusionMatrix makes them. It is
/// zero_division for a class without objects.
///
/// update(preds, target): see DetectionConfusionMatrix, also for crowds and
/// errors.
/// Result: float64 in [0, 1], of shape [], or [C] with kNone; NaN without any
/// objects and detections. State: that of DetectionConfusionMatrix.
/// Not differentiable. As the fields of supervision 0.31.2's ConfusionMatrix.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     DetectionRecall recall(10);
///     recall.update(std::vector<ImageObjects>{found},
///                   std::vector<ImageObjects>{annotated});
///     double value = recall.compute().item<double>();
class DetectionRecall final
    : public MetricOf<DetectionRecall, DetectedPairs, at::Tensor,
                      DetectionRateOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DetectionRecall";
  static constexpr MetricSummary kSummary{
      "Fraction of objects that were detected, at a score and an IoU.",
      "[0, 1]", "num_classes=5",
      "recall of detections, recall at a confidence, yolo",
      R"(\frac{TP}{TP + FN})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The harmonic mean of DetectionPrecision and DetectionRecall.
///
///     2 tp / (2 tp + fp + fn)
/// tp are pairs of one class, as DetectionConfusionMatrix makes them. It is
/// zero_division for a class without objects and detections.
///
/// update(preds, target): see DetectionConfusionMatrix, also for crowds and
/// errors.
/// Result: float64 in [0, 1], of shape [], or [C] with kNone; NaN without any
/// objects and detections. State: that of DetectionConfusionMatrix.
/// Not differentiable. As the fields of supervision 0.31.2's ConfusionMatrix.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     DetectionF1Score f1(10);
///     f1.update(std::vector<ImageObjects>{found},
///               std::vector<ImageObjects>{annotated});
///     double value = f1.compute().item<double>();
class DetectionF1Score final
    : public MetricOf<DetectionF1Score, DetectedPairs, at::Tensor,
                      DetectionRateOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DetectionF1Score";
  static constexpr MetricSummary kSummary{
      "Harmonic mean of precision and recall of objects, at a score and an "
      "IoU.",
      "[0, 1]", "num_classes=5",
      "f1 of detections, f1 at a confidence, yolo f1",
      R"(\frac{2 TP}{2 TP + FP + FN})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<DetectionPrecision, DetectedPairs, at::Tensor,
                               DetectionRateOptions>;
extern template class MetricOf<DetectionRecall, DetectedPairs, at::Tensor,
                               DetectionRateOptions>;
extern template class MetricOf<DetectionF1Score, DetectedPairs, at::Tensor,
                               DetectionRateOptions>;

}  // namespace tally
