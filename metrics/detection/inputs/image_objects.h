#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/core/input_conversion.h"
#include "tally/metrics/detection/inputs/run_length_mask.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/inputs.h"

namespace tally {

/// The objects of one image: what a detector found, or what was annotated.
///
///     ImageObjects found;
///     found.boxes = boxes;    // [n, 4]
///     found.scores = scores;  // [n]
///     found.labels = labels;  // [n]
struct ImageObjects {
  at::Tensor boxes = {};   ///< real [n, 4]
  at::Tensor scores = {};  ///< real [n]; of detections
  /// [n], whole numbers of any real dtype from 0 to 2^31 - 1; without objects
  /// as well
  at::Tensor labels = {};
  /// int or bool [n]; of annotations. Undefined: no object is a crowd.
  at::Tensor iscrowd = {};
  /// real [n]; of annotations. Undefined: the areas of the boxes.
  at::Tensor area = {};
  /// int or bool [n]; annotations that count neither as found nor as missed:
  /// "difficult" in PASCAL VOC, "ignore" in LVIS. COCO's rules have none.
  at::Tensor ignore = {};
  /// bool or int [n, height, width]
  at::Tensor masks = {};
  /// n masks, instead of `masks`
  std::vector<RunLengthMask> runs = {};
  /// real [n, K, 3], or [n, K, 2] of detections: x, y and, of annotations,
  /// visibility, above 0 for keypoints that count
  at::Tensor keypoints = {};
  /// int [*]; of annotations by LVIS: the classes of which the image is known
  /// to have no objects, and those of which not all are annotated. Of images in
  /// a list only.
  at::Tensor negative_labels = {}, inexhaustive_labels = {};
  /// int [2]: height and width in pixels; of joined images [N, 2]. Of
  /// annotations whose coordinates are normalized.
  at::Tensor image_size = {};
  /// Of the boxes. Default: the metric's option.
  std::optional<BoxFormat> box_format = std::nullopt;

  /// Objects [begin, end).
  ImageObjects slice(std::int64_t begin, std::int64_t end) const;
};

/// The objects of N images one after the other, as one tensor of each kind.
struct FlatImageObjects {
  ImageObjects objects;
  at::Tensor counts;  ///< int [N]: the objects of each image

  /// Throws c10::ValueError unless counts are [N] and 0 or more.
  std::vector<std::int64_t> offsets() const;
};

/// The tensors of a batch that can have gradients. A MetricLoss gives them one,
/// of zeros, on a rank without pairs.
std::vector<at::Tensor> tensors_of(const std::vector<ImageObjects>& images);
std::vector<at::Tensor> tensors_of(const FlatImageObjects& flat);

/// The objects of each image of a batch: the input type of observe() for
/// metrics of object detection. It is constructed from a list of ImageObjects
/// or from FlatImageObjects, and owns nothing: they must outlive it.
class ImageObjectsList {
 public:
  ImageObjectsList() = default;
  ImageObjectsList(c10::ArrayRef<ImageObjects> images) : images_(images) {}
  ImageObjectsList(const std::vector<ImageObjects>& images) : images_(images) {}
  ImageObjectsList(const FlatImageObjects& flat) : flat_(&flat) {}

  std::size_t size() const {
    return flat_ ? static_cast<std::size_t>(flat_->counts.numel())
                 : images_.size();
  }
  /// The images of a list; empty if flat().
  c10::ArrayRef<ImageObjects> images() const { return images_; }
  /// Null if constructed from a list.
  const FlatImageObjects* flat() const { return flat_; }
  /// The images at the given places.
  std::vector<ImageObjects> select(c10::ArrayRef<std::int64_t> places) const;

 private:
  c10::ArrayRef<ImageObjects> images_;
  const FlatImageObjects* flat_ = nullptr;
};

namespace internal {

template <>
struct InputConversion<ImageObjectsList> {
  static std::optional<ImageObjectsList> of(const InputRef& input);
};
template <>
struct InputTraits<ImageObjectsList> {
  static std::int64_t rows(const void* list);
  static InputValue select(const void* list,
                           c10::ArrayRef<std::int64_t> places);
};
template <>
struct InputTraits<FlatImageObjects> {
  static std::int64_t rows(const void* flat);
  static InputValue select(const void* flat,
                           c10::ArrayRef<std::int64_t> places);
};

}  // namespace internal
}  // namespace tally
