#include "tally/metrics/detection/kernels/greedy_matches.h"

#include <algorithm>

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

}  // namespace tally::internal::detection
