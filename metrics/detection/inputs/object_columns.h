#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/inputs/run_length_mask.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/match_rules.h"
#include "tally/metrics/detection/options/object_shape.h"

namespace tally::internal::detection {

/// What to read of the objects of a batch, and how to name them in errors.
struct ReadRules {
  const char* input;  ///< "preds" or "target"
  bool is_detected;   ///< with scores; else with iscrowd and area
  BoxFormat format = BoxFormat::kXYXY;
  bool validate = true;
  const std::int64_t* ids = nullptr;  ///< of the images, if there are any
  ObjectShape shape = ObjectShape::kBbox;
  std::vector<double> sigmas = {};  ///< of the keypoints
  MatchRules::Kind kind = MatchRules::Kind::kCoco;
  /// Labels and boxes are all there is to read, boxes as corners.
  bool only_boxes = false;
  /// Heights and widths of the images, [images, 2], that normalized coordinates
  /// are fractions of.
  const std::vector<double>* sizes = nullptr;

  /// "preds of image 3 (id 42)".
  std::string image(std::size_t i) const;
  bool has_corners() const {
    return only_boxes || kind == MatchRules::Kind::kVoc;
  }
  bool has_boxes() const {
    return shape == ObjectShape::kBbox ||
           (shape == ObjectShape::kKeypoints && !is_detected);
  }
};

/// The objects of a batch, one image after the other, in double precision.
struct ObjectColumns {
  ObjectShape shape = ObjectShape::kBbox;
  std::vector<double> sigmas;
  bool has_corners = false;  ///< boxes are left, top, right and bottom
  std::vector<std::int64_t> offsets = {0};  ///< [images + 1]
  /// [objects, 4]: left, top, width and height, unless only masks or keypoints
  /// are compared.
  std::vector<double> boxes;
  std::vector<std::int64_t> labels;
  std::vector<double> scores;         ///< of detections
  std::vector<double> areas;          ///< as given, or of what is compared
  std::vector<std::uint8_t> crowds;   ///< of annotations
  std::vector<std::uint8_t> ignores;  ///< the same; none by COCO's rules
  /// By image, ascending; see ImageObjects. None but by LVIS's rules.
  std::vector<std::vector<std::int64_t>> negatives, inexhaustives;
  std::vector<const RunLengthMask*> masks;  ///< the caller's, or encoded ones
  std::vector<RunLengthMask> encoded;
  std::vector<double> keypoints;      ///< [objects, K, 3]
  std::vector<std::int64_t> visible;  ///< keypoints that count

  std::size_t images() const { return offsets.size() - 1; }
  /// Whether an annotation is ignored whatever its area.
  bool is_ignored(std::size_t i) const {
    return crowds[i] != 0 || ignores[i] != 0 ||
           (shape == ObjectShape::kKeypoints && visible[i] == 0);
  }
};

/// Throws c10::ValueError or c10::TypeError for objects that `rules` do not
/// allow, naming the image and the box.
ObjectColumns read_objects(const ImageObjectsList& list,
                           const ReadRules& rules);
/// The image_size of each image, [images, 2]. Throws c10::ValueError or
/// c10::TypeError unless all have one.
std::vector<double> read_image_sizes(const ImageObjectsList& list,
                                     const ReadRules& rules);
/// Throws c10::ValueError unless all masks of an image have one size.
void check_mask_sizes(const ObjectColumns& preds, const ReadRules& preds_rules,
                      const ObjectColumns& target,
                      const ReadRules& target_rules);

}  // namespace tally::internal::detection
