#include "tally/metrics/detection/kernels/confused_pairs.h"

#include <algorithm>
#include <tuple>

namespace tally::internal::detection {

void ConfusedPairs::list(std::size_t image) {
  const auto begin = [image](const ObjectColumns& columns) {
    return static_cast<std::size_t>(columns.offsets[image]);
  };
  const auto end = [image](const ObjectColumns& columns) {
    return static_cast<std::size_t>(columns.offsets[image + 1]);
  };
  detections_.clear();
  for (std::size_t d = begin(preds_); d < end(preds_); ++d) {
    if (preds_.scores[d] >= rules_.score_threshold) detections_.push_back(d);
  }
  objects_.clear();
  for (std::size_t g = begin(target_); g < end(target_); ++g) {
    objects_.push_back(g);
  }
  overlap_.read(detections_.data(), detections_.size(), objects_.data(),
                objects_.size(), overlaps_);
}

void ConfusedPairs::list_candidates() {
  candidates_.clear();
  for (std::size_t g = 0; g < objects_.size(); ++g) {
    if (target_.crowds[objects_[g]] != 0) continue;
    for (std::size_t d = 0; d < detections_.size(); ++d) {
      const double overlap = overlaps_[d * objects_.size() + g];
      if (!(overlap > rules_.iou_threshold)) continue;
      const bool differs =
          preds_.labels[detections_[d]] != target_.labels[objects_[g]];
      candidates_.push_back({differs, overlap, g, d});
    }
  }
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) {
              return std::tuple(a.differs, -a.overlap, a.object, a.detection) <
                     std::tuple(b.differs, -b.overlap, b.object, b.detection);
            });
}

bool ConfusedPairs::hits_crowd(std::size_t detection) const {
  for (std::size_t g = 0; g < objects_.size(); ++g) {
    if (target_.crowds[objects_[g]] != 0 &&
        target_.labels[objects_[g]] == preds_.labels[detections_[detection]] &&
        overlaps_[detection * objects_.size() + g] > rules_.iou_threshold) {
      return true;
    }
  }
  return false;
}

void ConfusedPairs::add(std::size_t image, std::vector<std::int32_t>& places) {
  list(image);
  list_candidates();
  is_found_.assign(objects_.size(), 0);
  is_taken_.assign(detections_.size(), 0);
  const std::int64_t background = rules_.num_classes;
  const auto add_place = [&](std::int64_t target, std::int64_t predicted) {
    places.push_back(
        static_cast<std::int32_t>(target * (background + 1) + predicted));
  };
  for (const Candidate& each : candidates_) {
    if (is_found_[each.object] || is_taken_[each.detection]) continue;
    is_found_[each.object] = is_taken_[each.detection] = 1;
    add_place(target_.labels[objects_[each.object]],
              preds_.labels[detections_[each.detection]]);
  }
  for (std::size_t g = 0; g < objects_.size(); ++g) {
    if (is_found_[g] || target_.crowds[objects_[g]] != 0) continue;
    add_place(target_.labels[objects_[g]], background);
  }
  for (std::size_t d = 0; d < detections_.size(); ++d) {
    if (is_taken_[d] || hits_crowd(d)) continue;
    add_place(background, preds_.labels[detections_[d]]);
  }
}

}  // namespace tally::internal::detection
