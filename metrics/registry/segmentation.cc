#include "tally/metrics/segmentation/segmentation.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_segmentation(Registry& r) {
  r.add<DiceScore>(
      {"Overlap of two segmentations, relative to their mean size.", "[0, 1]",
       "num_classes=5"});
  r.add<GeneralizedDiceScore>(
      {"The Dice score with small classes weighing as much as large ones.",
       "[0, 1]", "num_classes=5"});
  r.add<MeanIoU>({"The mean intersection over union of classes.", "[0, 1]"});
  r.add<HausdorffDistance>(
      {"The largest distance from one surface to the other.", "[0, inf]",
       "num_classes=5"});
  r.add<AverageSymmetricSurfaceDistance>(
      {"The average distance between two surfaces.", "[0, inf]",
       "num_classes=5"});
  r.add<NormalizedSurfaceDistance>(
      {"The fraction of two surfaces that lies near the other one.", "[0, 1]",
       "num_classes=5, tolerance=1"});
  r.add<BoundaryF1>({"Precision and recall of boundaries, within a tolerance.",
                     "[0, 1]", "num_classes=5"});
}

}  // namespace tally::internal
