#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/options/match_rules.h"

namespace tally::internal::detection {

/// The detections and annotations of one image and class.
struct MatchProblem {
  std::size_t detections = 0;  ///< by descending score
  std::size_t objects = 0;
  const double* overlaps = nullptr;  ///< [detections, objects]
  const double* detection_areas = nullptr;
  const double* object_areas = nullptr;
  const std::uint8_t* crowds = nullptr;   ///< objects that take any number
  const std::uint8_t* ignored = nullptr;  ///< objects that never count
  /// Whether detections that hit nothing are ignored.
  bool ignores_misses = false;
};

/// COCO's greedy matching: at each threshold, detections in order take the
/// object that they overlap most; or PASCAL VOC's.
class GreedyMatcher {
 public:
  explicit GreedyMatcher(const MatchRules& rules) : rules_(rules) {}

  /// Sets the bits of MatchRow that detection d has, which are 0, at
  /// `bits + d * stride`.
  void match(const MatchProblem& problem, std::int64_t* bits,
             std::size_t stride);

 private:
  void match_voc(const MatchProblem& problem, std::int64_t* bits,
                 std::size_t stride);
  void match_area(const MatchProblem& problem, std::size_t area,
                  std::int64_t* bits, std::size_t stride);
  void match_threshold(const MatchProblem& problem, std::size_t area,
                       std::size_t threshold, std::int64_t* bits,
                       std::size_t stride);

  const MatchRules& rules_;
  std::vector<std::size_t> candidates_;  // detections that may match
  std::vector<std::size_t> order_;       // of the objects: ignored ones last
  std::vector<std::uint8_t> is_ignored_;
  std::vector<std::uint8_t> is_taken_;
  std::vector<std::uint8_t> is_matched_;  // [candidates]
};

}  // namespace tally::internal::detection
