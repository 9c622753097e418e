#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/curves/distinct_rows.h"

namespace tally::internal::detection {

/// A true positive.
struct Hit {
  double counted;  ///< detections down to it that are not ignored
  double score;
};

/// The hits of a class at each area and threshold, in the order of its rows.
class HitLists {
 public:
  explicit HitLists(const DistinctRows& rows);

  /// Of the best `max_detections` of each image. REQUIRES: sorted rows.
  void read(const ClassRows& rows, std::int64_t max_detections);

  /// The detections, ignored or not.
  std::int64_t count() const { return count_; }
  double first_score() const { return first_score_; }
  const std::vector<Hit>& hits(std::size_t area, std::size_t threshold) const {
    return hits_[area * thresholds_ + threshold];
  }

 private:
  void add_ignored(const std::int64_t* bits);

  std::size_t words_;
  std::size_t thresholds_;
  std::vector<std::vector<Hit>> hits_;
  std::vector<std::int64_t> ignored_;        // at single thresholds
  std::vector<std::int64_t> ignored_areas_;  // at all of them
  std::vector<std::uint64_t> masks_;         // [areas, words]
  std::int64_t count_ = 0;
  double first_score_ = 0;
};

}  // namespace tally::internal::detection
