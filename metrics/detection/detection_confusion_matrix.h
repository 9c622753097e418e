#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/classification/counts/confusion_values.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/counts/detected_pairs.h"
#include "tally/metrics/detection/options/count_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of DetectionConfusionMatrix.
///
/// Example:
///     DetectionConfusionMatrix matrix(
///         DetectionConfusionMatrixOptions(3).score_threshold(0.25));
struct DetectionConfusionMatrixOptions
    : DetectionCountOptions<DetectionConfusionMatrixOptions> {
  using DetectionCountOptions::DetectionCountOptions;

  TALLY_INHERITED_ARG(DetectionConfusionMatrixOptions, Normalize,
                      normalize) = Normalize::kNone;

 public:
  void visit(OptionVisitor& v) {
    DetectionCountOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue,
      internal::words::kNormalizedCounts);
  }
  Dimensions dimensions() const {
    return {Dimension::kClass, Dimension::kClass};
  }
};

/// How often objects of each class were detected as each, as background (they
/// were missed), and background as each (false alarms).
///
///     matrix[i][j] = pairs of an object of class i and a detection of class j
///     matrix[i][C] = objects of class i without a detection
///     matrix[C][j] = detections of class j without an object
///
/// Of each image, detections of a score of at least score_threshold and objects
/// that overlap by more than iou_threshold are paired one to one: pairs of one
/// class first, then those of different classes, each from the largest overlap
/// down. So the diagonal holds what precision and recall of each class count,
/// and a detection of the wrong class takes only an object that no detection of
/// its own class claims. Of equal overlaps, the object and then the detection
/// that comes first in its image is paired first. Crowds are no objects, and a
/// detection without a partner that a crowd of its class covers by more than
/// iou_threshold of the detection's area does not count.
///
/// update(preds, target): the detections and annotations of N images, each a
/// list of ImageObjects or FlatImageObjects: boxes (masks) with scores and
/// labels, and those with labels and iscrowd. Boxes may be of any real dtype;
/// they are converted to double first.
/// Result: int64 counts, or float64 if normalized; [C + 1, C + 1], the
/// background last. A row or column without entries is 0, and so is all without
/// objects and detections. State: that of MulticlassConfusion, summed.
/// Errors: c10::ValueError for preds and target of different numbers of images
/// and, naming the image and the box, for labels outside of [0, C), boxes that
/// are not finite or of negative width or height, NaN among scores, masks of
/// different sizes in an image, and tensors of other sizes; c10::TypeError for
/// missing tensors and other dtypes.
/// Not differentiable. As supervision 0.31.2's ConfusionMatrix, which has no
/// crowds.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     DetectionConfusionMatrix matrix(10);
///     matrix.update(std::vector<ImageObjects>{found},
///                   std::vector<ImageObjects>{annotated});
///     at::Tensor value = matrix.compute();
class DetectionConfusionMatrix final
    : public MetricOf<DetectionConfusionMatrix, DetectedPairs, at::Tensor,
                      DetectionConfusionMatrixOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DetectionConfusionMatrix";
  static constexpr MetricSummary kSummary{
      "Counts of objects by annotated and detected class, with background.",
      "counts, or fractions in [0, 1]", "num_classes=5",
      "confusion matrix of detections, yolo confusion matrix, supervision",
      R"(C_{ij} = |\{(g, d) : y_g = i,\ \hat y_d = j\}|)"};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<DetectionConfusionMatrix, DetectedPairs,
                               at::Tensor, DetectionConfusionMatrixOptions>;

}  // namespace tally
