#include <algorithm>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/detection/kernels/greedy_matches.h"
#include "tally/metrics/detection/kernels/segment_matcher.h"

namespace tally::internal::detection {
namespace {

void set_bit(std::int64_t* words, std::size_t bit) {
  words[bit / 64] =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(words[bit / 64]) |
                                std::uint64_t{1} << bit % 64);
}

// An overlap of 1 always suffices.
double least_overlap(double threshold) {
  return std::min(threshold, 1 - 1e-10);
}

}  // namespace

void GreedyMatcher::match(const MatchProblem& problem, std::int64_t* bits,
                          std::size_t stride) {
  if (rules_.kind == MatchRules::Kind::kVoc) {
    match_voc(problem, bits, stride);
    return;
  }
  candidates_.clear();
  if (problem.objects > 0) {
    const double least = least_overlap(
        *std::min_element(rules_.thresholds.begin(), rules_.thresholds.end()));
    for (std::size_t d = 0; d < problem.detections; ++d) {
      const double* overlaps = problem.overlaps + d * problem.objects;
      // Written so that NaN counts as one that suffices.
      if (!std::all_of(overlaps, overlaps + problem.objects,
                       [least](double overlap) { return overlap < least; })) {
        candidates_.push_back(d);
      }
    }
  }
  for (std::size_t area = 0; area < rules_.areas.size(); ++area) {
    match_area(problem, area, bits, stride);
  }
}

void GreedyMatcher::match_voc(const MatchProblem& problem, std::int64_t* bits,
                              std::size_t stride) {
  if (problem.objects == 0) return;
  for (std::size_t t = 0; t < rules_.thresholds.size(); ++t) {
    is_taken_.assign(problem.objects, 0);
    for (std::size_t d = 0; d < problem.detections; ++d) {
      const double* overlaps = problem.overlaps + d * problem.objects;
      const auto g = static_cast<std::size_t>(
          std::max_element(overlaps, overlaps + problem.objects) - overlaps);
      if (!(overlaps[g] > rules_.thresholds[t])) continue;
      std::int64_t* row = bits + d * stride;
      if (problem.ignored[g]) {
        set_bit(row + rules_.words(), t);
      } else if (!is_taken_[g]) {
        set_bit(row, t);
        is_taken_[g] = 1;
      }
    }
  }
}

void GreedyMatcher::match_area(const MatchProblem& problem, std::size_t area,
                               std::int64_t* bits, std::size_t stride) {
  const AreaRange& range = rules_.areas[area];
  const std::size_t thresholds = rules_.thresholds.size();
  const std::size_t words = rules_.words();
  const auto ignore = [&](std::size_t d, std::size_t threshold) {
    set_bit(bits + d * stride + words, area * thresholds + threshold);
  };
  const auto ignores_miss = [&](std::size_t d) {
    return problem.ignores_misses ||
           !range.contains(problem.detection_areas[d]);
  };
  std::size_t next = 0;
  for (std::size_t d = 0; d < problem.detections; ++d) {
    if (next < candidates_.size() && candidates_[next] == d) {
      ++next;
    } else if (ignores_miss(d)) {
      for (std::size_t t = 0; t < thresholds; ++t) ignore(d, t);
    }
  }
  if (candidates_.empty()) return;

  is_ignored_.assign(problem.objects, 0);
  order_.clear();
  for (const bool ignored : {false, true}) {
    for (std::size_t g = 0; g < problem.objects; ++g) {
      const bool is_ignored =
          problem.ignored[g] != 0 || !range.contains(problem.object_areas[g]);
      is_ignored_[g] = is_ignored;
      if (is_ignored == ignored) order_.push_back(g);
    }
  }
  for (std::size_t t = 0; t < thresholds; ++t) {
    match_threshold(problem, area, t, bits, stride);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::size_t d = candidates_[i];
      if (!is_matched_[i] && ignores_miss(d)) ignore(d, t);
    }
  }
}

void GreedyMatcher::match_threshold(const MatchProblem& problem,
                                    std::size_t area, std::size_t threshold,
                                    std::int64_t* bits, std::size_t stride) {
  const double least = least_overlap(rules_.thresholds[threshold]);
  const std::size_t bit = area * rules_.thresholds.size() + threshold;
  is_taken_.assign(problem.objects, 0);
  is_matched_.assign(candidates_.size(), 0);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::size_t d = candidates_[i];
    const double* overlaps = problem.overlaps + d * problem.objects;
    double best = least;
    std::size_t match = problem.objects;
    for (const std::size_t g : order_) {
      if (is_taken_[g] && !problem.crowds[g]) continue;
      // What counts goes before what is ignored.
      if (match < problem.objects && !is_ignored_[match] && is_ignored_[g]) {
        break;
      }
      if (overlaps[g] < best) continue;
      best = overlaps[g];
      match = g;
    }
    if (match == problem.objects) continue;
    is_matched_[i] = 1;
    is_taken_[match] = 1;
    std::int64_t* row = bits + d * stride;
    set_bit(is_ignored_[match] ? row + rules_.words() : row, bit);
  }
}

Categories::Categories(const std::vector<std::int64_t>& all,
                       std::size_t num_things)
    : num_things_(static_cast<std::int64_t>(num_things)) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    classes_[all[i]] = static_cast<std::int64_t>(i);
  }
}

std::size_t SegmentMatcher::KeyHash::operator()(const Key& key) const {
  return mixed(static_cast<std::uint64_t>(key.first) * kGoldenRatio ^
               static_cast<std::uint64_t>(key.second));
}

void SegmentMatcher::Segments::clear() {
  all.clear();
  places.clear();
}

std::int64_t SegmentMatcher::Segments::place_of(std::int64_t class_id,
                                                std::int64_t instance) {
  const auto [found, is_new] = places.try_emplace(
      Key{class_id, instance}, static_cast<std::int64_t>(all.size()));
  if (is_new) all.push_back({class_id});
  return found->second;
}

std::optional<std::int64_t> SegmentMatcher::match(
    const PanopticImage& image, std::vector<PanopticTally>& tallies) {
  preds_.clear();
  targets_.clear();
  overlaps_.clear();
  overlap_places_.clear();
  std::optional<std::int64_t> unknown;
  for (std::int64_t i = 0; i < image.pixels;) {
    const std::int64_t* pred = image.preds + 2 * i;
    const std::int64_t* target = image.target + 2 * i;
    const bool is_crowd = image.crowd && image.crowd[i] != 0;
    std::int64_t end = i + 1;
    while (end < image.pixels &&
           std::equal(pred, pred + 2, image.preds + 2 * end) &&
           std::equal(target, target + 2, image.target + 2 * end) &&
           (!image.crowd || (image.crowd[end] != 0) == is_crowd)) {
      ++end;
    }
    const std::int64_t pred_class = categories_.class_of(pred[0]);
    if (pred_class == Categories::kVoid && !unknown) unknown = pred[0];
    add_run(pred_class, pred[1], categories_.class_of(target[0]), target[1],
            is_crowd, end - i);
    i = end;
  }
  count(tallies);
  return unknown;
}

void SegmentMatcher::add_run(std::int64_t pred_class,
                             std::int64_t pred_instance,
                             std::int64_t target_class,
                             std::int64_t target_instance, bool is_crowd,
                             std::int64_t pixels) {
  constexpr std::int64_t kVoid = Categories::kVoid;
  std::int64_t target = kVoid;
  if (target_class != kVoid && !is_crowd) {
    const bool is_thing = categories_.is_thing(target_class);
    target = targets_.place_of(target_class, is_thing ? target_instance : 0);
    targets_.all[target].area += pixels;
  }
  if (pred_class == kVoid) return;
  const bool is_thing = categories_.is_thing(pred_class);
  const std::int64_t place =
      preds_.place_of(pred_class, is_thing ? pred_instance : 0);
  Segment& pred = preds_.all[place];
  pred.area += pixels;
  if (target_class == kVoid) pred.in_void += pixels;
  if (target_class == kVoid || (is_crowd && target_class == pred_class)) {
    pred.ignored += pixels;
  }
  if (target == kVoid || target_class != pred_class) return;
  const auto [found, is_new] =
      overlap_places_.try_emplace(Key{place, target}, overlaps_.size());
  if (is_new) overlaps_.push_back({place, target});
  overlaps_[found->second].pixels += pixels;
}

void SegmentMatcher::count(std::vector<PanopticTally>& tallies) {
  for (const Overlap& overlap : overlaps_) {
    Segment& pred = preds_.all[overlap.pred];
    Segment& target = targets_.all[overlap.target];
    const std::int64_t all =
        pred.area + target.area - overlap.pixels - pred.in_void;
    const double iou =
        static_cast<double>(overlap.pixels) / static_cast<double>(all);
    PanopticTally& tally = tallies[pred.class_id];
    tally.iou += iou;
    if (2 * overlap.pixels <= all) continue;
    tally.matched_iou += iou;
    ++tally.tp;
    pred.matches = true;
    target.matches = true;
  }
  for (const Segment& target : targets_.all) {
    PanopticTally& tally = tallies[target.class_id];
    ++tally.segments;
    if (!target.matches) ++tally.fn;
  }
  for (const Segment& pred : preds_.all) {
    if (!pred.matches && 2 * pred.ignored <= pred.area) {
      ++tallies[pred.class_id].fp;
    }
  }
}

}  // namespace tally::internal::detection
