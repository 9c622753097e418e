#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/kernels/greedy_matches.h"
#include "tally/metrics/detection/kernels/overlaps.h"
#include "tally/metrics/detection/options/match_rules.h"

namespace tally::internal::detection {

/// Matches the images of a batch, one class after the other, and writes their
/// rows.
class ImageMatcher {
 public:
  /// `ids` are null without.
  ImageMatcher(const MatchRules& rules, const ObjectColumns& preds,
               const ObjectColumns& target, const std::int64_t* ids)
      : rules_(rules),
        preds_(preds),
        target_(target),
        ids_(ids),
        overlap_(preds, target),
        matcher_(rules) {}

  /// How many rows an image has.
  struct Written {
    std::size_t detections = 0;
    std::size_t counts = 0;
  };
  /// Writes the MatchRows and CountRows of an image over zeros.
  Written match(std::size_t image, std::int64_t* detections,
                std::int64_t* counts);

 private:
  struct Group {
    std::int64_t label;
    const std::size_t* detections;
    std::size_t num_detections;
    const std::size_t* objects;
    std::size_t num_objects;
    bool ignores_misses;
  };

  void sort_image(std::size_t image);
  void keep_judged(std::size_t image);
  std::int64_t group_of(std::int64_t label) const;
  std::size_t match_group(const Group& group, std::int64_t id,
                          std::int64_t* rows);
  void count_group(const Group& group, std::int64_t id,
                   std::int64_t* row) const;

  const MatchRules& rules_;
  const ObjectColumns& preds_;
  const ObjectColumns& target_;
  const std::int64_t* ids_;
  const Overlaps overlap_;
  GreedyMatcher matcher_;
  std::vector<std::size_t> detections_;
  std::vector<std::size_t> objects_;
  std::vector<double> overlaps_;
  std::vector<double> detection_areas_;
  std::vector<double> object_areas_;
  std::vector<std::uint8_t> crowds_, ignored_;
};

}  // namespace tally::internal::detection
