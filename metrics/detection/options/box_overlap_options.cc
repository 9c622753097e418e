#include "tally/metrics/detection/options/box_overlap_options.h"

#include <c10/util/Exception.h>

namespace tally {

void BoxOverlapOptions::validate(const char* metric) const {
  const double threshold = iou_threshold_.value_or(0);
  TORCH_CHECK_VALUE(threshold >= -1 && threshold <= 1, metric,
                    ": option 'iou_threshold': expected a number from -1 to "
                    "1, got ",
                    threshold);
}

}  // namespace tally
