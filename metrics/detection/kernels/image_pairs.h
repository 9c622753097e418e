#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/options/box_overlap_options.h"

namespace tally::internal::detection {

/// A detection and an annotation that are compared, by their places in the
/// columns, and how much they overlap.
struct ComparedPair {
  std::size_t detection;
  std::size_t object;
  double overlap;
};

/// Chooses the pairs of boxes of an image. Boxes are edges in double precision.
class ImagePairs {
 public:
  ImagePairs(const ObjectColumns& preds, const ObjectColumns& target,
             BoxOverlap overlap, const BoxOverlapOptions& options)
      : preds_(preds), target_(target), overlap_(overlap), options_(options) {}

  /// In an order that the image alone decides.
  std::vector<ComparedPair> of(std::size_t image) const;

 private:
  using Places = std::vector<std::size_t>;

  void add(std::size_t detection, std::size_t object,
           std::vector<ComparedPair>& pairs) const;
  void add_matches(const Places& detections, const Places& objects,
                   std::vector<ComparedPair>& pairs) const;
  double overlap(std::size_t detection, std::size_t object) const;

  const ObjectColumns& preds_;
  const ObjectColumns& target_;
  BoxOverlap overlap_;
  const BoxOverlapOptions& options_;
};

}  // namespace tally::internal::detection
