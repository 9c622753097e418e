#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// How much two boxes overlap, at most 1.
enum class BoxOverlap {
  kIoU,   ///< intersection over union, at least 0
  kGIoU,  ///< IoU minus the fraction of the smallest enclosing box that neither
          ///< covers, at least -1
  kDIoU,  ///< IoU minus the squared distance of the centers, relative to the
          ///< squared diagonal of the smallest enclosing box, at least -1
  kCIoU,  ///< DIoU minus a term for the difference of the aspect ratios
};
template <>
struct EnumNames<BoxOverlap> {
  static constexpr const char* kNames[] = {"iou", "giou", "diou", "ciou"};
};

/// Which detections are compared with which annotations of an image.
enum class BoxPairs {
  kMatched,  ///< one to one: the pairs whose overlaps have the largest sum
  kPaired,   ///< the first with the first, the second with the second
  kAll,      ///< each with each
};
template <>
struct EnumNames<BoxPairs> {
  static constexpr const char* kNames[] = {"matched", "paired", "all"};
};

}  // namespace tally
