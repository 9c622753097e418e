#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/states/matched_detections.h"

namespace tally::internal::detection {

/// The detections of a class, and how many objects it has per area.
struct ClassRows {
  std::int64_t label = 0;
  std::vector<const std::int64_t*> detections;  ///< MatchRows
  std::vector<std::int64_t> objects;
};

/// The rows of a state by class, those of repeated images once.
struct DistinctRows {
  std::vector<ClassRows> classes;  ///< by ascending label
  std::size_t areas = 0;
  std::size_t thresholds = 0;
  std::size_t words = 0;  ///< of one bit per area and threshold
  bool has_ids = false;
  at::Tensor owner;  ///< of the detections

  /// int64 [classes].
  at::Tensor labels() const;
  /// All classes as one.
  ClassRows pooled() const;
  /// Puts detections in COCO's order: by descending score, then by image and
  /// rank; without ids by bits and rank, so that any split of the data has the
  /// same order.
  void sort(ClassRows& rows) const;
};

/// Throws c10::ValueError for a state that does not have so many bits, for ids
/// that only some updates had, and for images of one id that differ.
DistinctRows distinct_rows(const MatchedDetectionsState& state,
                           std::size_t areas, std::size_t thresholds);

}  // namespace tally::internal::detection
