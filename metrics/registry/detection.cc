#include "tally/metrics/detection/detection.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_detection(Registry& r) {
  r.add<CompleteIntersectionOverUnion>(
      {"Mean overlap of boxes, with distances and aspect ratios (CIoU).",
       "[-1.5, 1]"});
  r.add<DistanceIntersectionOverUnion>(
      {"Mean overlap of boxes, with the distances of centers (DIoU).",
       "[-1, 1]"});
  r.add<GeneralizedIntersectionOverUnion>(
      {"Mean overlap of boxes, with the space between them (GIoU).",
       "[-1, 1]"});
  r.add<IntersectionOverUnion>(
      {"Mean intersection over union of boxes (IoU).", "[0, 1]"});
  r.add<LVISAveragePrecision>(
      {"Mean average precision of detected objects by the rules of LVIS.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAveragePrecision>(
      {"Mean average precision and recall of detected objects, as COCO's.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAverageRecall>(
      {"Mean recall of detected objects over overlaps and classes.",
       "[0, 1]; -1 without objects"});
  r.add<ModifiedPanopticQuality>(
      {"Panoptic quality whose regions need not overlap by half.", "[0, 1]",
       "things=[0, 1], stuffs=[2]"});
  r.add<PanopticQuality>(
      {"Quality of segmentations into things and stuffs, as panopticapi's.",
       "[0, 1]", "things=[0, 1], stuffs=[2]"});
  r.add<PascalVOCAveragePrecision>(
      {"Mean average precision of boxes by the rules of PASCAL VOC.",
       "[0, 1]"});
}

}  // namespace tally::internal
