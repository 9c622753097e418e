#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// What the four numbers of a box are.
enum class BoxFormat {
  kXYXY,    ///< the left, top, right and bottom edge
  kXYWH,    ///< the left and top edge, width and height, as in COCO's files
  kCXCYWH,  ///< the center, width and height
};
template <>
struct EnumNames<BoxFormat> {
  static constexpr const char* kNames[] = {"xyxy", "xywh", "cxcywh"};
};

}  // namespace tally
