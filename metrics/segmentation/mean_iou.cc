#include "tally/metrics/segmentation/mean_iou.h"

#include <c10/util/Exception.h>

namespace tally {

namespace segmentation = internal::segmentation;

void MeanIoUOptions::validate(const char* metric) const {
  OverlapOptions::validate(metric);
  TORCH_CHECK_VALUE(
      num_classes_ || input_format_ != SegmentationFormat::kIndex, metric,
      ": expected num_classes, as input_format=index does not say how many "
      "classes there are");
}

SegmentationScore MeanIoU::evaluate(const State& state) const {
  const MeanIoUOptions& o = options();
  const std::int64_t classes =
      o.num_classes() ? segmentation::counted_classes(*o.num_classes(),
                                                      o.include_background())
                      : 0;
  return segmentation::with_cases(
      o.per_class()
          ? segmentation::class_scores(state, o.aggregation_level(), o.absent(),
                                       segmentation::ClassScore::kIoU, classes)
          : segmentation::overlap_score(state, o.aggregation_level(),
                                        o.absent(),
                                        segmentation::OverlapScore::kMeanIoU),
      o.count_cases());
}

}  // namespace tally
