#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/detection/inputs/object_columns.h"
#include "tally/metrics/detection/kernels/overlaps.h"
#include "tally/metrics/detection/options/count_options.h"

namespace tally::internal::detection {

/// Pairs the detections and annotations of the images of a batch over all
/// classes: those of one class first, and of these and of the others those that
/// overlap most.
class ConfusedPairs {
 public:
  ConfusedPairs(const CountRules& rules, const ObjectColumns& preds,
                const ObjectColumns& target)
      : rules_(rules),
        preds_(preds),
        target_(target),
        overlap_(preds, target) {}

  /// Adds the places of an image's pairs in a matrix of classes and background:
  /// target * (num_classes + 1) + predicted.
  void add(std::size_t image, std::vector<std::int32_t>& places);

 private:
  struct Candidate {
    bool differs;  // in class
    double overlap;
    std::size_t object, detection;  // by their places in the lists
  };

  void list(std::size_t image);
  void list_candidates();
  bool hits_crowd(std::size_t detection) const;

  const CountRules& rules_;
  const ObjectColumns& preds_;
  const ObjectColumns& target_;
  const Overlaps overlap_;
  std::vector<std::size_t> detections_, objects_;
  std::vector<double> overlaps_;  // [detections, objects]
  std::vector<Candidate> candidates_;
  std::vector<std::uint8_t> is_found_, is_taken_;
};

}  // namespace tally::internal::detection
