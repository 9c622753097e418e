#include "tally/metrics/detection/detection.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_detection(Registry& r) {
  r.add<MeanAveragePrecision>(
      {"Mean average precision and recall of detected objects, as COCO's.",
       "[0, 1]; -1 without objects"});
}

}  // namespace tally::internal
