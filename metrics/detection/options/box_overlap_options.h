#pragma once

#include <torch/arg.h>

#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/box_overlap.h"
#include "tally/metrics/options.h"

namespace tally {

/// Options of IntersectionOverUnion, GeneralizedIntersectionOverUnion,
/// DistanceIntersectionOverUnion and CompleteIntersectionOverUnion.
///
/// Example:
///     IntersectionOverUnion iou(
///         BoxOverlapOptions().iou_threshold(0.5).class_metrics(true));
struct BoxOverlapOptions {
  /// What the numbers of boxes are.
  TORCH_ARG(BoxFormat, box_format) = BoxFormat::kXYXY;
  /// Pairs that overlap less are ignored, after matching.
  TORCH_ARG(std::optional<double>, iou_threshold) = std::nullopt;
  /// Whether to return the means of the classes as well.
  TORCH_ARG(bool, class_metrics) = false;
  /// Whether pairs of different labels are ignored, and only boxes of the same
  /// label are matched.
  TORCH_ARG(bool, respect_labels) = true;
  /// Which boxes of an image are compared. Default: kMatched; TorchMetrics'
  /// classes compare all pairs (kAll), its functions pair boxes (kPaired).
  TORCH_ARG(BoxPairs, pairs) = BoxPairs::kMatched;

 public:
  void visit(OptionVisitor& v) {
    v("box_format", box_format_, internal::words::kBoxFormat);
    v("iou_threshold", iou_threshold_,
      "Pairs with a smaller overlap are skipped; none: no pair is.");
    v("class_metrics", class_metrics_, OptionRole::kValue,
      internal::words::kClassMetrics);
    v("respect_labels", respect_labels_,
      "Compare only boxes of the same label.");
    v("pairs", pairs_,
      "Which boxes of an image are compared, such as matched pairs.");
  }
  void validate(const char* metric) const;
};

}  // namespace tally
