#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/options/box_format.h"

namespace tally::internal::detection {

/// What to read of the objects of a batch, and how to name them in errors.
struct ReadRules {
  const char* input;  ///< "preds" or "target"
  bool is_detected;   ///< with scores; else with iscrowd and area
  BoxFormat format = BoxFormat::kXYXY;
  bool validate = true;
  const std::int64_t* ids = nullptr;  ///< of the images, if there are any

  /// "preds of image 3 (id 42)".
  std::string image(std::size_t i) const;
};

/// The objects of a batch, one image after the other, in double precision.
struct ObjectColumns {
  std::vector<std::int64_t> offsets = {0};  ///< [images + 1]
  /// [objects, 4]: left, top, width and height.
  std::vector<double> boxes;
  std::vector<std::int64_t> labels;
  std::vector<double> scores;        ///< of detections
  std::vector<double> areas;         ///< as given, or of the boxes
  std::vector<std::uint8_t> crowds;  ///< of annotations

  std::size_t images() const { return offsets.size() - 1; }
};

/// Throws c10::ValueError or c10::TypeError for objects that `rules` do not
/// allow, naming the image and the box.
ObjectColumns read_objects(const ImageObjectsList& list,
                           const ReadRules& rules);

}  // namespace tally::internal::detection
