#include "tally/metrics/intervals/curve_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace tally::internal::intervals {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool are_numbers(const std::vector<CurveSample>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.score == sample.score && std::isfinite(sample.weight) &&
           sample.weight >= 0;
  });
}

// The order of equal scores decides the last digits of weighted sums.
void sort_samples(CurveArea kind, std::vector<CurveSample>& samples) {
  const bool is_ascending = kind == CurveArea::kRoc;
  std::sort(samples.begin(), samples.end(),
            [=](const CurveSample& a, const CurveSample& b) {
              if (a.score != b.score) {
                return is_ascending ? a.score < b.score : a.score > b.score;
              }
              return std::tie(a.is_positive, a.id, a.weight) <
                     std::tie(b.is_positive, b.id, b.weight);
            });
}

/// Calls use(begin, end) for sorted samples of equal scores.
template <class Use>
void for_each_score(const std::vector<CurveSample>& samples, const Use& use) {
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    while (end < samples.size() && samples[end].score == samples[begin].score) {
      ++end;
    }
    use(begin, end);
  }
}

std::vector<std::uint8_t> marks_of(CurveArea kind,
                                   const std::vector<CurveSample>& samples) {
  std::vector<std::uint8_t> marks;
  marks.reserve(samples.size());
  for (const CurveSample& sample : samples) {
    marks.push_back(sample.is_positive ? kIsPositive : 0);
  }
  for_each_score(samples, [&](std::size_t begin, std::size_t end) {
    const bool has_positives = samples[end - 1].is_positive;
    if (kind == CurveArea::kPrecisionRecall) {
      if (has_positives) marks[end - 1] |= kEndsStep;
      return;
    }
    const bool has_negatives = !samples[begin].is_positive;
    const bool is_tied = has_positives && has_negatives;
    const bool follows_positives = begin > 0 && samples[begin - 1].is_positive;
    if (begin > 0 && (is_tied || (has_negatives && follows_positives))) {
      marks[begin - 1] |= kEndsStep;
    }
    if (is_tied) marks[end - 1] |= kEndsStep | kIsTied;
  });
  if (!marks.empty()) marks.back() |= kEndsStep;
  return marks;
}

}  // namespace

std::vector<double> replicate_areas(CurveArea kind,
                                    const ReplicateWeights& weights,
                                    std::vector<CurveSample> samples) {
  const auto replicates = static_cast<std::size_t>(weights.replicates());
  if (samples.empty() || !are_numbers(samples)) {
    return std::vector<double>(samples.empty() ? 0 : replicates, kNaN);
  }
  sort_samples(kind, samples);
  const std::vector<std::uint8_t> marks = marks_of(kind, samples);
  const bool is_weighted =
      std::any_of(samples.begin(), samples.end(),
                  [](const auto& sample) { return sample.weight != 1; });
  const std::int64_t stride = weights.stride();
  const auto width = static_cast<std::size_t>(stride);
  std::vector<std::uint8_t> drawn(width * kMostSamples);
  std::vector<double> all(5 * width, 0);
  const CurveSums sums = {all.data(), all.data() + width,
                          all.data() + 2 * width, all.data() + 3 * width,
                          all.data() + 4 * width};
  std::int64_t ids[kMostSamples];
  double factors[kMostSamples];
  bool continues = false;
  for (std::size_t first = 0; first < samples.size(); first += kMostSamples) {
    const auto count = std::min<std::int64_t>(
        kMostSamples, static_cast<std::int64_t>(samples.size() - first));
    for (std::int64_t i = 0; i < count; ++i) {
      const CurveSample& sample = samples[first + static_cast<std::size_t>(i)];
      ids[i] = sample.id;
      factors[i] = sample.weight;
    }
    weights.fill(ids, count, drawn.data());
    const std::uint8_t* const own = marks.data() + first;
    add_samples(kind, drawn.data(), own, is_weighted ? factors : nullptr, count,
                stride, continues, sums);
    continues = (own[count - 1] & kEndsStep) == 0;
  }
  std::vector<double> areas;
  for (std::size_t r = 0; r < replicates; ++r) {
    const double all_pairs = kind == CurveArea::kRoc
                                 ? sums.positives[r] * sums.negatives[r]
                                 : sums.positives[r];
    areas.push_back(all_pairs > 0 ? sums.area[r] / all_pairs : kNaN);
  }
  return areas;
}

double roc_acceleration(std::vector<CurveSample> samples) {
  if (!are_numbers(samples)) return 0;
  sort_samples(CurveArea::kRoc, samples);
  double positives = 0;
  double negatives = 0;
  double pairs = 0;
  const auto visit = [&](const auto& use) {
    double below[2] = {0, 0};
    for_each_score(samples, [&](std::size_t begin, std::size_t end) {
      double own[2] = {0, 0};
      for (std::size_t i = begin; i < end; ++i) {
        own[samples[i].is_positive] += samples[i].weight;
      }
      use(begin, end, below, own);
      for (const int i : {0, 1}) below[i] += own[i];
    });
  };
  visit([&](std::size_t, std::size_t, const double* below, const double* own) {
    pairs += own[1] * (below[0] + own[0] / 2);
    negatives += own[0];
    positives += own[1];
  });
  if (!(positives > 0) || !(negatives > 0)) return 0;
  const double area = pairs / positives / negatives;
  std::vector<std::pair<std::int64_t, double>> terms;
  visit([&](std::size_t begin, std::size_t end, const double* below,
            const double* own) {
    const double of_positive =
        ((below[0] + own[0] / 2) / negatives - area) / positives;
    const double of_negative =
        (1 - (below[1] + own[1] / 2) / positives - area) / negatives;
    for (std::size_t i = begin; i < end; ++i) {
      const CurveSample& sample = samples[i];
      terms.emplace_back(
          sample.id,
          sample.weight * (sample.is_positive ? of_positive : of_negative));
    }
  });
  std::sort(terms.begin(), terms.end());
  double squares = 0;
  double cubes = 0;
  for (std::size_t i = 0; i < terms.size();) {
    const std::int64_t id = terms[i].first;
    double sum = 0;
    for (; i < terms.size() && terms[i].first == id; ++i) {
      sum += terms[i].second;
    }
    squares += sum * sum;
    cubes += sum * sum * sum;
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

}  // namespace tally::internal::intervals
