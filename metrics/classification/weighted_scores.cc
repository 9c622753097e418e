#include "tally/metrics/classification/weighted_scores.h"

#include <hwy/base.h>
#include <hwy/cache_control.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/metrics/classification/score_kernels.h"
#include "tally/metrics/classification/score_keys.h"

namespace tally::internal {
namespace {

// A sample's place in the order of scores, then its index, as one number.
std::uint64_t key_of(float score, std::int64_t i, std::uint64_t) {
  return std::uint64_t{ordered(score)} << 32 | static_cast<std::uint64_t>(i);
}
hwy::uint128_t key_of(double score, std::int64_t i, hwy::uint128_t) {
  return {static_cast<std::uint64_t>(i), ordered(score)};
}
std::uint32_t score_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key >> 32);
}
std::uint64_t score_of(const hwy::uint128_t& key) { return key.hi; }
std::int64_t index_of(std::uint64_t key) {
  return static_cast<std::int64_t>(key & 0xffffffff);
}
std::int64_t index_of(const hwy::uint128_t& key) {
  return static_cast<std::int64_t>(key.lo);
}

// Weights lie anywhere once scores are sorted: those of samples so far ahead
// are fetched.
constexpr std::int64_t kAhead = 32;

bool is_weight(double weight) {
  return weight >= 0 && weight <= std::numeric_limits<double>::max();
}

}  // namespace

template <class Key, class Score>
std::optional<WeightedScores> WeightedScores::sorted(const Score* scores,
                                                     const std::uint8_t* codes,
                                                     const double* weights,
                                                     std::int64_t count,
                                                     std::int64_t columns) {
  const auto weight_of = [=](std::int64_t i) {
    return weights[columns == 1 ? i : i / columns];
  };
  Scratch<Key> keys(count);
  std::int64_t size = 0;
  bool all_numbers = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const double weight = weight_of(i);
    if (codes[i] > 1 || weight == 0) continue;
    all_numbers &= scores[i] == scores[i] && is_weight(weight);
    keys[size++] = key_of(scores[i], i, Key());
  }
  if (!all_numbers) return std::nullopt;
  sort_keys(keys.data(), size);
  std::int64_t steps = size > 0;
  for (std::int64_t i = 1; i < size; ++i) {
    steps += score_of(keys[i]) != score_of(keys[i - 1]);
  }
  WeightedScores weighted(steps);
  for (std::int64_t end = size; end > 0;) {
    const auto score = score_of(keys[end - 1]);
    double sums[2] = {0, 0};
    while (end > 0 && score_of(keys[end - 1]) == score) {
      const std::int64_t i = index_of(keys[--end]);
      if (end >= kAhead) {
        const std::int64_t later = index_of(keys[end - kAhead]);
        hwy::Prefetch(weights + (columns == 1 ? later : later / columns));
        hwy::Prefetch(codes + later);
      }
      sums[codes[i]] += weight_of(i);
    }
    weighted.add(unordered(score), sums[1], sums[0]);
  }
  return std::move(weighted).finished();
}

std::optional<WeightedScores> WeightedScores::of(const float* scores,
                                                 const std::uint8_t* codes,
                                                 const double* weights,
                                                 std::int64_t count,
                                                 std::int64_t columns) {
  if (count >> 32 == 0) {
    return sorted<std::uint64_t>(scores, codes, weights, count, columns);
  }
  return sorted<hwy::uint128_t>(scores, codes, weights, count, columns);
}

std::optional<WeightedScores> WeightedScores::of(const double* scores,
                                                 const std::uint8_t* codes,
                                                 const double* weights,
                                                 std::int64_t count,
                                                 std::int64_t columns) {
  return sorted<hwy::uint128_t>(scores, codes, weights, count, columns);
}

std::optional<WeightedScores> WeightedScores::of(const at::Tensor& scores,
                                                 const at::Tensor& codes,
                                                 const at::Tensor& weights) {
  const at::Tensor kept = codes.ne(2).logical_and_(weights.ne(0));
  // NaN sorts as the highest.
  const auto [sorted, order] =
      scores.masked_select(kept).sort(/*dim=*/0, /*descending=*/true);
  const auto in_order = [&, &order = order](const at::Tensor& values) {
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
  positives_ += positives;
  negatives_ += negatives;
}

std::optional<WeightedScores> WeightedScores::finished() && {
  // Finite weights may have sums that are not.
  if (!is_weight(positives_) || !is_weight(negatives_)) return std::nullopt;
  return std::move(*this);
}

}  // namespace tally::internal
