#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/options/box_coordinates.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/match_rules.h"
#include "tally/metrics/detection/options/object_shape.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// Detections after matching, in any order: see MatchRow, CountRow and
/// ImageRow.
struct MatchedDetectionsState {
  Rows detections;  ///< int64 [D, 3 + 2 words]
  Rows counts;      ///< int64 [images and classes with objects, 2 + areas]
  Rows images;      ///< int64 [images with ids, 2]
  std::int64_t num_images = 0;  ///< with ids and without

  void fields(Fields& f) {
    f("detections", detections)("counts", counts)("images", images);
    f("num_images", num_images);
  }
};

/// Matches the detections of each image: the observer of
/// MeanAveragePrecision.
class MatchedDetections {
 public:
  static constexpr const char* kName = "MatchedDetections";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kRagged, "detected objects of N images"},
      {"target", InputKind::kRagged, "annotated objects of N images"},
      {"image_ids", InputKind::kKeys, "int ids of the images [N], or texts",
       /*is_optional=*/true}};
  static constexpr const char* kUnit = "image";
  static bool keeps_on_cpu() { return true; }
  using State = MatchedDetectionsState;

  template <class Options>
  MatchedDetections(const Options& options, const MetricOptions& metric_options)
      : rules_(options.rules()),
        format_(options.box_format()),
        is_normalized_(options.coordinates() == BoxCoordinates::kNormalized),
        shape_(options.iou_type()),
        sigmas_(options.sigmas()),
        validate_(metric_options.validate_args()) {}

  State observe(const ImageObjectsList& preds, const ImageObjectsList& target,
                const Keys& image_ids = {}) const;

 private:
  internal::detection::MatchRules rules_;
  BoxFormat format_;
  bool is_normalized_;
  ObjectShape shape_;
  std::vector<double> sigmas_;
  bool validate_;
};

}  // namespace tally
