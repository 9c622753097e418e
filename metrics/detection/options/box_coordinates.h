#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// The unit of boxes and keypoints.
enum class BoxCoordinates {
  kPixels,
  kNormalized,  ///< fractions of the image's width and height, as YOLO has them
};
template <>
struct EnumNames<BoxCoordinates> {
  static constexpr const char* kNames[] = {"pixels", "normalized"};
};

namespace internal::words {

inline constexpr char kCoordinates[] =
    "Unit of boxes; normalized: annotations have image_size.";

}  // namespace internal::words
}  // namespace tally
