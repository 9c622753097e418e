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

namespace internal::detection {

/// Checkpoints from before the option are of pixels, and name no unit.
constexpr OptionRole role_of(BoxCoordinates coordinates) {
  return coordinates == BoxCoordinates::kPixels ? OptionRole::kValue
                                                : OptionRole::kState;
}

}  // namespace internal::detection
namespace internal::words {

inline constexpr char kCoordinates[] =
    "Unit of boxes; normalized: annotations have image_size.";

}  // namespace internal::words
}  // namespace tally
