#pragma once

#include "tally/metrics/classification/counts/multiclass_confusion.h"
#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/options/count_options.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"

namespace tally {

/// Pairs detections with annotations over all classes, and counts the pairs of
/// their classes: the observer of DetectionConfusionMatrix. The last class is
/// the background, of what has no partner.
class DetectedPairs {
 public:
  static constexpr const char* kName = "DetectedPairs";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kRagged, "detected objects of N images"},
      {"target", InputKind::kRagged, "annotated objects of N images"}};
  static constexpr const char* kUnit = "image";
  static bool keeps_on_cpu() { return true; }
  using State = MulticlassConfusion::State;

  template <class Options>
  DetectedPairs(const Options& options, const MetricOptions& metric_options)
      : rules_(options.rules()), validate_(metric_options.validate_args()) {}

  State observe(const ImageObjectsList& preds,
                const ImageObjectsList& target) const;

 private:
  internal::detection::CountRules rules_;
  bool validate_;
};

}  // namespace tally
