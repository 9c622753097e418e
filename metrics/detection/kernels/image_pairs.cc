#include "tally/metrics/detection/kernels/image_pairs.h"

#include <map>
#include <utility>

#include "tally/metrics/detection/kernels/best_pairs.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"

// Overlaps are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

Edges<double> edges_of(const ObjectColumns& columns, std::size_t i) {
  const double* box = &columns.boxes[4 * i];
  return {box[0], box[1], box[2], box[3]};
}

}  // namespace

std::vector<ComparedPair> ImagePairs::of(std::size_t image) const {
  const auto begin = static_cast<std::size_t>(preds_.offsets[image]);
  const auto end = static_cast<std::size_t>(preds_.offsets[image + 1]);
  const auto first = static_cast<std::size_t>(target_.offsets[image]);
  const auto last = static_cast<std::size_t>(target_.offsets[image + 1]);
  std::vector<ComparedPair> pairs;
  switch (options_.pairs()) {
    case BoxPairs::kPaired:
      for (std::size_t i = begin; i < end; ++i)
        add(i, first + i - begin, pairs);
      break;
    case BoxPairs::kAll:
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t j = first; j < last; ++j) add(i, j, pairs);
      }
      break;
    case BoxPairs::kMatched: {
      // By label, if labels count.
      std::map<std::int64_t, std::pair<Places, Places>> groups;
      const bool by_label = options_.respect_labels();
      for (std::size_t i = begin; i < end; ++i) {
        groups[by_label ? preds_.labels[i] : 0].first.push_back(i);
      }
      for (std::size_t j = first; j < last; ++j) {
        groups[by_label ? target_.labels[j] : 0].second.push_back(j);
      }
      for (const auto& [label, places] : groups) {
        add_matches(places.first, places.second, pairs);
      }
      break;
    }
  }
  return pairs;
}

void ImagePairs::add(std::size_t detection, std::size_t object,
                     std::vector<ComparedPair>& pairs) const {
  if (options_.respect_labels() &&
      preds_.labels[detection] != target_.labels[object]) {
    return;
  }
  const double value = overlap(detection, object);
  if (options_.iou_threshold() && value < *options_.iou_threshold()) return;
  pairs.push_back({detection, object, value});
}

void ImagePairs::add_matches(const Places& detections, const Places& objects,
                             std::vector<ComparedPair>& pairs) const {
  if (detections.empty() || objects.empty()) return;
  std::vector<double> overlaps;
  for (const std::size_t i : detections) {
    for (const std::size_t j : objects) overlaps.push_back(overlap(i, j));
  }
  for (const BoxPair& pair :
       best_pairs(overlaps, detections.size(), objects.size())) {
    add(detections[pair.box], objects[pair.other], pairs);
  }
}

double ImagePairs::overlap(std::size_t detection, std::size_t object) const {
  return overlap_of(edges_of(preds_, detection), edges_of(target_, object),
                    overlap_);
}

}  // namespace tally::internal::detection
