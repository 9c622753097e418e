#pragma once

#include <cstddef>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"

namespace tally::internal::detection {

/// How much detections and annotations overlap, in COCO's operations and their
/// order: intersection over union of boxes or masks, over the detection alone
/// for a crowd; or the similarity of keypoints (OKS).
class Overlaps {
 public:
  Overlaps(const ObjectColumns& preds, const ObjectColumns& target);

  /// Writes [detections, objects], by their places in the columns.
  void read(const std::size_t* detections, std::size_t num_detections,
            const std::size_t* objects, std::size_t num_objects,
            std::vector<double>& overlaps) const;

 private:
  double of_boxes(std::size_t detection, std::size_t object) const;
  double of_masks(std::size_t detection, std::size_t object) const;
  double of_keypoints(std::size_t detection, std::size_t object) const;
  double distance(std::size_t detection, std::size_t object, bool is_visible,
                  std::size_t keypoint) const;

  const ObjectColumns& preds_;
  const ObjectColumns& target_;
  std::vector<double> variances_;
};

}  // namespace tally::internal::detection
