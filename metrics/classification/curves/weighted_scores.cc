#include "tally/metrics/classification/curves/weighted_scores.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/classification/curves/score_parts.h"
#include "tally/metrics/classification/kernels/sample_keys.h"
#include "tally/metrics/classification/kernels/score_kernels.h"

namespace tally::internal::classification {
namespace {

// Weights lie anywhere once scores are sorted: those of samples so far ahead
// are fetched.
constexpr std::int64_t kAhead = 32;

bool is_weight(double weight) {
  return weight >= 0 && weight <= std::numeric_limits<double>::max();
}

}  // namespace

template <class Score>
std::optional<WeightedScores> WeightedScores::of_samples(
    const Score* scores, const std::uint8_t* codes, const double* weights,
    std::int64_t count, std::int64_t columns) {
  const auto weight_at = [=](std::int64_t i) {
    return weights + (columns == 1 ? i : i / columns);
  };
  const SampleKeys<Score> samples(scores,
                                  SampleKeys<Score>::low_bits_for(count));
  const std::int64_t threads = threads_for(count);
  const std::vector<Score> cuts = part_cuts(scores, count, threads);
  const auto cut_count = static_cast<std::int64_t>(cuts.size());

  // Each thread's samples of each part have a place of their own, with room for
  // those that do not count.
  std::vector<std::vector<std::int64_t>> at_least(threads);
  for_each_task(threads, threads, [&](std::int64_t thread) {
    const std::int64_t begin = count * thread / threads;
    const std::int64_t end = count * (thread + 1) / threads;
    at_least[thread].resize(cut_count + 2);
    at_least[thread][0] = end - begin;
    count_at_least(scores + begin, end - begin, cuts.data(), cut_count,
                   at_least[thread].data() + 1);
  });
  Scratch<std::uint64_t> keys(count);
  std::vector<std::vector<std::uint64_t*>> first(threads);
  std::uint64_t* place = keys.data();
  for (std::int64_t part = 0; part <= cut_count; ++part) {
    for (std::int64_t thread = 0; thread < threads; ++thread) {
      first[thread].push_back(place);
      place += at_least[thread][part] - at_least[thread][part + 1];
    }
  }
  std::vector<std::vector<std::uint64_t*>> next = first;
  std::atomic<bool> all_numbers{true};
  for_each_task(threads, threads, [&](std::int64_t thread) {
    std::vector<std::uint64_t*> own = next[thread];
    const std::int64_t begin = count * thread / threads;
    const std::int64_t end = count * (thread + 1) / threads;
    bool are_numbers = true;
    const auto is_in = [&](std::int64_t i) {
      const double weight = *weight_at(i);
      if (codes[i] > 1 || weight == 0) return false;
      are_numbers &= scores[i] == scores[i] && is_weight(weight);
      return true;
    };
    if (cuts.empty()) {
      std::uint64_t* key = own[0];
      for (std::int64_t i = begin; i < end; ++i) {
        if (is_in(i)) *key++ = samples.key(i, codes[i]);
      }
      own[0] = key;
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        if (!is_in(i)) continue;
        std::int64_t part = 0;
        for (const Score cut : cuts) part += scores[i] >= cut;
        *own[part]++ = samples.key(i, codes[i]);
      }
    }
    if (!are_numbers) all_numbers = false;
    next[thread] = std::move(own);
  });
  if (!all_numbers) return std::nullopt;

  struct Part {
    std::uint64_t* begin;
    std::uint64_t* end;
    std::int64_t steps;
    std::int64_t first_step;
  };
  std::vector<Part> parts(cut_count + 1);
  for_each_task(cut_count + 1, threads, [&](std::int64_t i) {
    Part& part = parts[i];
    part.begin = first[0][i];
    part.end = next[0][i];
    for (std::int64_t thread = 1; thread < threads; ++thread) {
      part.end = std::copy(first[thread][i], next[thread][i], part.end);
    }
    samples.sort(part.begin, part.end - part.begin);
    part.steps = part.begin < part.end;
    for (const std::uint64_t* key = part.begin; key + 1 < part.end; ++key) {
      part.steps += !samples.have_same_score(key[0], key[1]);
    }
  });
  // The highest scores come first.
  std::int64_t steps = 0;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    part->first_step = steps;
    steps += part->steps;
  }
  WeightedScores weighted(steps);
  for_each_task(cut_count + 1, threads, [&](std::int64_t i) {
    const Part& part = parts[i];
    Step* step = weighted.steps_.data() + part.first_step;
    double totals[2] = {0, 0};
    for (const std::uint64_t* key = part.end; key > part.begin;) {
      const std::uint64_t highest = key[-1];
      double sums[2] = {0, 0};
      while (key > part.begin && samples.have_same_score(key[-1], highest)) {
        --key;
        if (key - part.begin >= kAhead) {
          const std::int64_t later = samples.index(key[-kAhead]);
          hwy::Prefetch(weight_at(later));
          if (samples.cuts_scores()) hwy::Prefetch(scores + later);
        }
        sums[samples.code(*key)] += *weight_at(samples.index(*key));
      }
      *step++ = {samples.score(highest), sums[1], sums[0]};
      totals[0] += sums[0];
      totals[1] += sums[1];
    }
    if (cut_count == 0) weighted.set_totals(totals[1], totals[0]);
  });
  weighted.size_ = steps;
  // The same sums for any number of threads: step by step.
  if (cut_count > 0) {
    double totals[2] = {0, 0};
    for (std::int64_t i = 0; i < steps; ++i) {
      totals[0] += weighted.steps_[i].negatives;
      totals[1] += weighted.steps_[i].positives;
    }
    weighted.set_totals(totals[1], totals[0]);
  }
  return std::move(weighted).finished();
}

std::optional<WeightedScores> WeightedScores::of(const float* scores,
                                                 const std::uint8_t* codes,
                                                 const double* weights,
                                                 std::int64_t count,
                                                 std::int64_t columns) {
  return of_samples(scores, codes, weights, count, columns);
}

std::optional<WeightedScores> WeightedScores::of(const double* scores,
                                                 const std::uint8_t* codes,
                                                 const double* weights,
                                                 std::int64_t count,
                                                 std::int64_t columns) {
  return of_samples(scores, codes, weights, count, columns);
}

std::optional<WeightedScores> WeightedScores::of(const at::Tensor& scores,
                                                 const at::Tensor& codes,
                                                 const at::Tensor& weights) {
  const at::Tensor kept = codes.ne(2).logical_and_(weights.ne(0));
  // NaN sorts as the highest.
  at::Tensor sorted, order;
  std::tie(sorted, order) =
      scores.masked_select(kept).sort(/*dim=*/0, /*descending=*/true);
  const auto in_order = [&](const at::Tensor& values) {
    return values.masked_select(kept).index_select(0, order).cpu();
  };
  const at::Tensor keys = sorted.to(at::kDouble).cpu();
  const at::Tensor positives = in_order(codes);
  const at::Tensor own_weights = in_order(weights);
  const auto* const score = keys.const_data_ptr<double>();
  const auto* const code = positives.const_data_ptr<std::uint8_t>();
  const auto* const weight = own_weights.const_data_ptr<double>();
  const std::int64_t size = keys.numel();
  if (size > 0 && std::isnan(score[0])) return std::nullopt;
  WeightedScores weighted(size);
  for (std::int64_t i = 0; i < size;) {
    const double own = score[i];
    double sums[2] = {0, 0};
    for (; i < size && score[i] == own; ++i) {
      if (!is_weight(weight[i])) return std::nullopt;
      sums[code[i] & 1] += weight[i];
    }
    weighted.add(own, sums[1], sums[0]);
  }
  return std::move(weighted).finished();
}

std::optional<WeightedScores> WeightedScores::of(const at::Tensor& histogram,
                                                 std::int64_t curve) {
  const std::int64_t columns = histogram.size(-1);
  const auto* const negatives =
      histogram.const_data_ptr<double>() + curve * 2 * columns;
  const auto* const positives = negatives + columns;
  // The last ones are those of NaN.
  if (negatives[columns - 1] != 0 || positives[columns - 1] != 0) {
    return std::nullopt;
  }
  WeightedScores weighted(columns);
  for (std::int64_t i = columns - 1; i-- > 0;) {
    if (!is_weight(negatives[i]) || !is_weight(positives[i])) {
      return std::nullopt;
    }
    if (negatives[i] + positives[i] != 0) {
      weighted.add(static_cast<double>(i), positives[i], negatives[i]);
    }
  }
  return std::move(weighted).finished();
}

void WeightedScores::add(double score, double positives, double negatives) {
  steps_[size_++] = {score, positives, negatives};
  set_totals(positives_ + positives, negatives_ + negatives);
}

std::optional<WeightedScores> WeightedScores::finished() && {
  // Finite weights may have sums that are not.
  if (!is_weight(positives_) || !is_weight(negatives_)) return std::nullopt;
  return std::move(*this);
}

}  // namespace tally::internal::classification
