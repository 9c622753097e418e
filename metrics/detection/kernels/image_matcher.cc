#include "tally/metrics/detection/kernels/image_matcher.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tally/metrics/detection/kernels/box_overlaps.h"
#include "tally/metrics/detection/kernels/score_order.h"

// Overlaps are compiled without contraction to fused multiply-adds (BUILD).
namespace tally::internal::detection {
namespace {

void list_objects(const ObjectColumns& columns, std::size_t image,
                  std::vector<std::size_t>& list) {
  const auto begin = static_cast<std::size_t>(columns.offsets[image]);
  const auto end = static_cast<std::size_t>(columns.offsets[image + 1]);
  list.resize(end - begin);
  std::iota(list.begin(), list.end(), begin);
}

}  // namespace

std::int64_t ImageMatcher::group_of(std::int64_t label) const {
  return rules_.class_agnostic ? 0 : label;
}

void ImageMatcher::sort_image(std::size_t image) {
  list_objects(preds_, image, detections_);
  list_objects(target_, image, objects_);
  // Without classes those of a lower class still go first, as in pycocotools.
  std::sort(detections_.begin(), detections_.end(),
            [this](std::size_t a, std::size_t b) {
              const auto key = [this](std::size_t i) {
                const std::int64_t label = preds_.labels[i];
                return std::make_tuple(group_of(label),
                                       descending(preds_.scores[i]), label, i);
              };
              return key(a) < key(b);
            });
  std::sort(objects_.begin(), objects_.end(),
            [this](std::size_t a, std::size_t b) {
              return std::make_pair(target_.labels[a], a) <
                     std::make_pair(target_.labels[b], b);
            });
}

ImageMatcher::Written ImageMatcher::match(std::size_t image,
                                          std::int64_t* detections,
                                          std::int64_t* counts) {
  sort_image(image);
  const std::int64_t id = ids_ ? ids_[image] : 0;
  const std::size_t width = MatchRow::width(rules_.words());
  Written written;
  for (std::size_t d = 0, g = 0;
       d < detections_.size() || g < objects_.size();) {
    Group group{};
    const auto label_at = [this](const ObjectColumns& columns,
                                 const std::vector<std::size_t>& list,
                                 std::size_t i) {
      return i < list.size() ? group_of(columns.labels[list[i]]) : INT64_MAX;
    };
    group.label = std::min(label_at(preds_, detections_, d),
                           label_at(target_, objects_, g));
    group.detections = detections_.data() + d;
    group.objects = objects_.data() + g;
    for (; d < detections_.size() &&
           label_at(preds_, detections_, d) == group.label;
         ++d) {
      ++group.num_detections;
    }
    for (; g < objects_.size() && label_at(target_, objects_, g) == group.label;
         ++g) {
      ++group.num_objects;
    }
    written.detections +=
        match_group(group, id, detections + written.detections * width);
    if (group.num_objects == 0) continue;
    count_group(
        group, id,
        counts + written.counts * (CountRow::kCounts + rules_.areas.size()));
    ++written.counts;
  }
  return written;
}

std::size_t ImageMatcher::match_group(const Group& group, std::int64_t id,
                                      std::int64_t* rows) {
  const std::size_t count = std::min(
      group.num_detections, static_cast<std::size_t>(rules_.max_detections));
  const std::size_t width = MatchRow::width(rules_.words());
  detection_areas_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = group.detections[i];
    std::int64_t* row = rows + i * width;
    row[MatchRow::kScore] = bits_of(preds_.scores[d]);
    row[MatchRow::kImage] = id;
    row[MatchRow::kPlace] =
        MatchRow::place(group.label, static_cast<std::int64_t>(i));
    detection_areas_[i] = preds_.areas[d];
  }
  object_areas_.resize(group.num_objects);
  crowds_.resize(group.num_objects);
  for (std::size_t j = 0; j < group.num_objects; ++j) {
    object_areas_[j] = target_.areas[group.objects[j]];
    crowds_[j] = target_.crowds[group.objects[j]];
  }
  overlaps_.resize(count * group.num_objects);
  for (std::size_t i = 0; i < count; ++i) {
    const double* box = &preds_.boxes[4 * group.detections[i]];
    for (std::size_t j = 0; j < group.num_objects; ++j) {
      overlaps_[i * group.num_objects + j] = box_overlap(
          box, &target_.boxes[4 * group.objects[j]], crowds_[j] != 0);
    }
  }
  MatchProblem problem;
  problem.detections = count;
  problem.objects = group.num_objects;
  problem.overlaps = overlaps_.data();
  problem.detection_areas = detection_areas_.data();
  problem.object_areas = object_areas_.data();
  problem.crowds = crowds_.data();
  matcher_.match(problem, rows + MatchRow::kBits, width);
  return count;
}

void ImageMatcher::count_group(const Group& group, std::int64_t id,
                               std::int64_t* row) const {
  row[CountRow::kImage] = id;
  row[CountRow::kLabel] = group.label;
  for (std::size_t j = 0; j < group.num_objects; ++j) {
    const std::size_t g = group.objects[j];
    if (target_.crowds[g]) continue;
    for (std::size_t area = 0; area < rules_.areas.size(); ++area) {
      row[CountRow::kCounts + area] +=
          rules_.areas[area].contains(target_.areas[g]) ? 1 : 0;
    }
  }
}

}  // namespace tally::internal::detection
