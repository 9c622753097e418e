#include "tally/metrics/detection/kernels/segment_matcher.h"

#include <algorithm>

namespace tally::internal::detection {

Categories::Categories(const std::vector<std::int64_t>& all,
                       std::size_t num_things)
    : num_things_(static_cast<std::int64_t>(num_things)) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    classes_[all[i]] = static_cast<std::int64_t>(i);
  }
}

std::size_t SegmentMatcher::KeyHash::operator()(const Key& key) const {
  // The finalizer of SplitMix64.
  auto x = static_cast<std::uint64_t>(key.first) * 0x9e3779b97f4a7c15u ^
           static_cast<std::uint64_t>(key.second);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>(x ^ x >> 31);
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
