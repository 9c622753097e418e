#include "tally/metrics/detection/detection.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_detection(Registry& r) {
  r.add<LVISAveragePrecision>(
      {"Mean average precision of detected objects by the rules of LVIS.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAveragePrecision>(
      {"Mean average precision and recall of detected objects, as COCO's.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAverageRecall>(
      {"Mean recall of detected objects over overlaps and classes.",
       "[0, 1]; -1 without objects"});
  r.add<PascalVOCAveragePrecision>(
      {"Mean average precision of boxes by the rules of PASCAL VOC.",
       "[0, 1]"});
}

}  // namespace tally::internal
