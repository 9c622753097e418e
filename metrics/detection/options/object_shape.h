#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// What of objects is compared, by COCO's names.
enum class ObjectShape {
  kBbox,       ///< boxes, by intersection over union
  kSegm,       ///< masks, by intersection over union
  kKeypoints,  ///< keypoints, by their similarity (OKS)
};
template <>
struct EnumNames<ObjectShape> {
  static constexpr const char* kNames[] = {"bbox", "segm", "keypoints"};
};

}  // namespace tally
