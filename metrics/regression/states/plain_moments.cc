#include "tally/metrics/regression/states/plain_moments.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "tally/metrics/common/pair_kernels.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::regression {
namespace {

// Samples to which one shift applies: few enough for sums of squares about it
// to keep their precision.
constexpr std::int64_t kBlock = 2048;
// Samples that one thread takes at a time. Fixed, so that results do not depend
// on the number of threads.
constexpr std::int64_t kChunk = 32 * kBlock;

void merge_into(WeightedMoments& a, const WeightedMoments& b) {
  if (a.weight == 0) {
    a = b;
  } else {
    a.moments = merge_moments(a.moments, a.weight, b.moments, b.weight);
    a.weight += b.weight;
  }
}

WeightedMoments from_sums(const ShiftedSums& s, double first_preds,
                          double first_target) {
  const double mean_preds = s.preds / nonzero(s.weight);
  const double mean_target = s.target / nonzero(s.weight);
  return {{first_preds + mean_preds, first_target + mean_target,
           s.preds_preds - mean_preds * s.preds,
           s.target_target - mean_target * s.target,
           s.preds_target - mean_preds * s.target, s.error},
          s.weight};
}

template <class T>
WeightedMoments block_moments(const T* preds, const T* target,
                              std::int64_t count) {
  return from_sums(shifted_sums(preds, target, count),
                   static_cast<double>(*preds), static_cast<double>(*target));
}

template <class T>
WeightedMoments block_moments(const T* preds, const T* target,
                              const double* weight, std::int64_t count) {
  const auto first_preds = static_cast<double>(*preds);
  const auto first_target = static_cast<double>(*target);
  ShiftedSums s;
  for (std::int64_t i = 0; i < count; ++i) {
    const double dp = static_cast<double>(preds[i]) - first_preds;
    const double dt = static_cast<double>(target[i]) - first_target;
    const double error =
        static_cast<double>(preds[i]) - static_cast<double>(target[i]);
    s.weight += weight[i];
    s.preds += weight[i] * dp;
    s.target += weight[i] * dt;
    s.preds_preds += weight[i] * dp * dp;
    s.target_target += weight[i] * dt * dt;
    s.preds_target += weight[i] * dp * dt;
    s.error += weight[i] * error * error;
  }
  return from_sums(s, first_preds, first_target);
}

// `of_block(begin, size)` of all blocks, merged in order.
template <class OfBlock>
WeightedMoments merge_blocks(std::int64_t begin, std::int64_t end,
                             const OfBlock& of_block) {
  WeightedMoments result;
  for (; begin < end; begin += kBlock) {
    merge_into(result, of_block(begin, std::min(end - begin, kBlock)));
  }
  return result;
}

template <class OfBlock>
WeightedMoments merge_chunks(std::int64_t count, const OfBlock& of_block) {
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<WeightedMoments> parts(chunks);
  at::parallel_for(0, chunks, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      parts[i] =
          merge_blocks(i * kChunk, std::min(count, (i + 1) * kChunk), of_block);
    }
  });
  WeightedMoments result;
  for (const WeightedMoments& part : parts) merge_into(result, part);
  return result;
}

// Sums of all columns, row by row: [6, outputs] and the sum of the weights.
template <class T>
double output_sums(const T* preds, const T* target, const double* weight,
                   std::int64_t rows, std::int64_t outputs, double* sums) {
  std::fill_n(sums, kMomentRows * outputs, 0.0);
  double all_weights = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double w = weight == nullptr ? 1 : weight[row];
    const T* const p = preds + row * outputs;
    const T* const t = target + row * outputs;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const auto wide_p = static_cast<double>(p[i]);
      const auto wide_t = static_cast<double>(t[i]);
      const double dp = wide_p - static_cast<double>(preds[i]);
      const double dt = wide_t - static_cast<double>(target[i]);
      sums[i] += w * dp;
      sums[outputs + i] += w * dt;
      sums[2 * outputs + i] += w * dp * dp;
      sums[3 * outputs + i] += w * dt * dt;
      sums[4 * outputs + i] += w * dp * dt;
      sums[5 * outputs + i] += w * (wide_p - wide_t) * (wide_p - wide_t);
    }
    all_weights += w;
  }
  return all_weights;
}

}  // namespace

WeightedMoments plain_moments(const Samples& samples, const double* weight) {
  const std::int64_t count = samples.preds.numel();
  return visit_values(
      samples.preds, samples.target, [=](const auto* p, const auto* t) {
        const auto of_block = [=](std::int64_t begin, std::int64_t size) {
          return weight == nullptr ? block_moments(p + begin, t + begin, size)
                                   : block_moments(p + begin, t + begin,
                                                   weight + begin, size);
        };
        return count <= kChunk ? merge_blocks(0, count, of_block)
                               : merge_chunks(count, of_block);
      });
}

double plain_output_moments(const Samples& samples, const double* weight,
                            double* moments) {
  const std::int64_t count = samples.preds.size(0);
  const std::int64_t outputs = samples.preds.size(1);
  std::vector<double> sums(kMomentRows * outputs);
  return visit_values(
      samples.preds, samples.target, [&](const auto* p, const auto* t) {
        double all_weights = 0;
        for (std::int64_t begin = 0; begin < count; begin += kBlock) {
          const auto* const block_p = p + begin * outputs;
          const auto* const block_t = t + begin * outputs;
          const double block_weight = output_sums(
              block_p, block_t, weight == nullptr ? weight : weight + begin,
              std::min(count - begin, kBlock), outputs, sums.data());
          for (std::int64_t i = 0; i < outputs; ++i) {
            const double* s = sums.data() + i;
            WeightedMoments merged{moments_column(moments, outputs, i),
                                   all_weights};
            merge_into(merged, from_sums({block_weight, s[0], s[outputs],
                                          s[2 * outputs], s[3 * outputs],
                                          s[4 * outputs], s[5 * outputs]},
                                         static_cast<double>(block_p[i]),
                                         static_cast<double>(block_t[i])));
            set_moments_column(moments, outputs, i, merged.moments);
          }
          all_weights += block_weight;
        }
        return all_weights;
      });
}

Moments<double> moments_column(const double* rows, std::int64_t outputs,
                               std::int64_t output) {
  const double* m = rows + output;
  return {m[0],           m[outputs],     m[2 * outputs],
          m[3 * outputs], m[4 * outputs], m[5 * outputs]};
}

void set_moments_column(double* rows, std::int64_t outputs, std::int64_t output,
                        const Moments<double>& value) {
  double* m = rows + output;
  m[0] = value.mean_preds;
  m[outputs] = value.mean_target;
  m[2 * outputs] = value.squares_preds;
  m[3 * outputs] = value.squares_target;
  m[4 * outputs] = value.products;
  m[5 * outputs] = value.squared_error;
}

}  // namespace tally::internal::regression
