#include "tally/metrics/detection/kernels/image_matcher.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tally/metrics/detection/kernels/score_order.h"

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
  if (rules_.kind == MatchRules::Kind::kLvis) keep_judged(image);
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

// The best detections of the image, and of these the ones of classes that it is
// known to have or not to have. lvis reads nothing without area.
void ImageMatcher::keep_judged(std::size_t image) {
  const auto most = static_cast<std::size_t>(rules_.max_per_image);
  if (detections_.size() > most) {
    std::sort(detections_.begin(), detections_.end(),
              [this](std::size_t a, std::size_t b) {
                return std::make_pair(descending(preds_.scores[a]), a) <
                       std::make_pair(descending(preds_.scores[b]), b);
              });
    detections_.resize(most);
  }
  const auto drop_flat = [](const ObjectColumns& columns,
                            std::vector<std::size_t>& list) {
    list.erase(
        std::remove_if(list.begin(), list.end(),
                       [&](std::size_t i) { return !(columns.areas[i] > 0); }),
        list.end());
  };
  drop_flat(preds_, detections_);
  drop_flat(target_, objects_);
  std::vector<std::int64_t> judged = target_.negatives[image];
  for (const std::size_t g : objects_) judged.push_back(target_.labels[g]);
  std::sort(judged.begin(), judged.end());
  detections_.erase(std::remove_if(detections_.begin(), detections_.end(),
                                   [&](std::size_t d) {
                                     return !std::binary_search(
                                         judged.begin(), judged.end(),
                                         preds_.labels[d]);
                                   }),
                    detections_.end());
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
    if (rules_.kind == MatchRules::Kind::kLvis) {
      const std::vector<std::int64_t>& labels = target_.inexhaustives[image];
      group.ignores_misses =
          std::binary_search(labels.begin(), labels.end(), group.label);
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
  ignored_.resize(group.num_objects);
  for (std::size_t j = 0; j < group.num_objects; ++j) {
    object_areas_[j] = target_.areas[group.objects[j]];
    crowds_[j] = target_.crowds[group.objects[j]];
    ignored_[j] = target_.is_ignored(group.objects[j]);
  }
  overlap_.read(group.detections, count, group.objects, group.num_objects,
                overlaps_);
  MatchProblem problem;
  problem.detections = count;
  problem.objects = group.num_objects;
  problem.overlaps = overlaps_.data();
  problem.detection_areas = detection_areas_.data();
  problem.object_areas = object_areas_.data();
  problem.crowds = crowds_.data();
  problem.ignored = ignored_.data();
  problem.ignores_misses = group.ignores_misses;
  matcher_.match(problem, rows + MatchRow::kBits, width);
  return count;
}

void ImageMatcher::count_group(const Group& group, std::int64_t id,
                               std::int64_t* row) const {
  row[CountRow::kImage] = id;
  row[CountRow::kLabel] = group.label;
  for (std::size_t j = 0; j < group.num_objects; ++j) {
    const std::size_t g = group.objects[j];
    if (target_.is_ignored(g)) continue;
    for (std::size_t area = 0; area < rules_.areas.size(); ++area) {
      row[CountRow::kCounts + area] +=
          rules_.areas[area].contains(target_.areas[g]) ? 1 : 0;
    }
  }
}

}  // namespace tally::internal::detection
