#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tally/metrics/detection/inputs/object_columns.h"

namespace tally::internal::detection {

/// Copies objects into columns.
class ObjectReader {
 public:
  ObjectReader(const ReadRules& rules, ObjectColumns& columns)
      : rules_(rules), columns_(columns) {}

  /// The number of objects. Throws c10::ValueError or c10::TypeError, beginning
  /// with `place`, for tensors of other shapes and dtypes.
  std::int64_t check(const std::string& place,
                     const ImageObjects& objects) const;
  /// Copies all but masks, to place `at`.
  void read(const ImageObjects& objects, std::size_t at) const;
  /// Encodes masks [begin, end), unless they are runs, to place `at`.
  void read_masks(const ImageObjects& objects, std::size_t at,
                  std::size_t begin, std::size_t end) const;
  /// The classes that images are judged by.
  void read_judged_labels(const ImageObjectsList& list) const;

 private:
  void read_boxes(const ImageObjects& objects, std::size_t at,
                  std::size_t count) const;
  /// Pixels of normalized coordinates: the first two of every `step` of the
  /// `numbers` that each object has.
  void scale(double* values, std::size_t at, std::size_t count,
             std::size_t numbers, std::size_t step) const;
  void read_keypoints(const ImageObjects& objects, std::size_t at,
                      std::size_t count) const;
  void read_areas(const ImageObjects& objects, std::size_t at,
                  std::size_t count) const;
  double area_of_keypoints(std::size_t object) const;

  const ReadRules& rules_;
  ObjectColumns& columns_;
};

}  // namespace tally::internal::detection
