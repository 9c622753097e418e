#include "tally/metrics/detection/kernels/overlaps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tally/metrics/detection/kernels/best_pairs.h"
#include "tally/metrics/detection/kernels/box_iou.h"
#include "tally/metrics/detection/kernels/image_pairs.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"

// Overlaps are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

// In NumPy's order: eight sums side by side, and then the rest.
double numpy_sum(const std::vector<double>& values) {
  constexpr std::size_t kLanes = 8;
  std::size_t i = 0;
  double sum = 0;
  if (values.size() >= kLanes) {
    double lanes[kLanes];
    std::copy(values.begin(), values.begin() + kLanes, lanes);
    for (i = kLanes; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += values[i + lane];
      }
    }
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; i < values.size(); ++i) sum += values[i];
  return sum;
}

double outside(double at, double least, double most) {
  return std::max(0.0, least - at) + std::max(0.0, at - most);
}

Edges<double> edges_of(const ObjectColumns& columns, std::size_t i) {
  const double* box = &columns.boxes[4 * i];
  return {box[0], box[1], box[2], box[3]};
}

}  // namespace

Overlaps::Overlaps(const ObjectColumns& preds, const ObjectColumns& target)
    : preds_(preds), target_(target) {
  for (const double sigma : target.sigmas) {
    variances_.push_back((sigma * 2) * (sigma * 2));
  }
}

void Overlaps::read(const std::size_t* detections, std::size_t num_detections,
                    const std::size_t* objects, std::size_t num_objects,
                    std::vector<double>& overlaps) const {
  overlaps.resize(num_detections * num_objects);
  double* overlap = overlaps.data();
  for (std::size_t i = 0; i < num_detections; ++i) {
    const std::size_t d = detections[i];
    for (std::size_t j = 0; j < num_objects; ++j) {
      const std::size_t g = objects[j];
      switch (preds_.shape) {
        case ObjectShape::kBbox:
          *overlap++ = of_boxes(d, g);
          break;
        case ObjectShape::kSegm:
          *overlap++ = of_masks(d, g);
          break;
        case ObjectShape::kKeypoints:
          *overlap++ = of_keypoints(d, g);
          break;
      }
    }
  }
}

double Overlaps::of_boxes(std::size_t detection, std::size_t object) const {
  const double* a = &preds_.boxes[4 * detection];
  const double* b = &target_.boxes[4 * object];
  return preds_.has_corners ? pixel_box_overlap(a, b)
                            : box_overlap(a, b, target_.crowds[object] != 0);
}

double Overlaps::of_masks(std::size_t detection, std::size_t object) const {
  const RunLengthMask& a = *preds_.masks[detection];
  const RunLengthMask& b = *target_.masks[object];
  const std::int64_t both = a.intersection(b);
  if (both == 0) return 0;
  const std::int64_t all =
      target_.crowds[object] != 0 ? a.area() : a.area() + b.area() - both;
  return static_cast<double>(both) / static_cast<double>(all);
}

double Overlaps::of_keypoints(std::size_t detection, std::size_t object) const {
  const std::size_t count = variances_.size();
  const double* annotated = &target_.keypoints[3 * count * object];
  const bool has_visible = target_.visible[object] > 0;
  std::vector<double> similarities;
  for (std::size_t k = 0; k < count; ++k) {
    if (has_visible && !(annotated[3 * k + 2] > 0)) continue;
    similarities.push_back(
        std::exp(-distance(detection, object, has_visible, k)));
  }
  return numpy_sum(similarities) / static_cast<double>(similarities.size());
}

double Overlaps::distance(std::size_t detection, std::size_t object,
                          bool is_visible, std::size_t keypoint) const {
  const std::size_t count = variances_.size();
  const double* found = &preds_.keypoints[3 * (count * detection + keypoint)];
  const double* annotated = &target_.keypoints[3 * (count * object + keypoint)];
  double dx = found[0] - annotated[0];
  double dy = found[1] - annotated[1];
  if (!is_visible) {
    // To the box, doubled around its center.
    const double* box = &target_.boxes[4 * object];
    dx = outside(found[0], box[0] - box[2], box[0] + box[2] * 2);
    dy = outside(found[1], box[1] - box[3], box[1] + box[3] * 2);
  }
  constexpr double kSpacing = std::numeric_limits<double>::epsilon();
  return (dx * dx + dy * dy) / variances_[keypoint] /
         (target_.areas[object] + kSpacing) / 2;
}

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
