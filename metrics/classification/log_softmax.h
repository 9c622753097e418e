#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tally::internal {

/// For each row its largest logit and the logarithm of the softmax's
/// denominator, relative to it: from these the logarithm of any class's
/// probability, which does not saturate as the probability does.
template <class Score>
struct LogSoftmax {
  LogSoftmax(const Score* scores, std::int64_t count, std::int64_t classes)
      : max(count), log_sum(count) {
    at::parallel_for(
        0, count, 1 + 32768 / classes,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Score* const row = scores + i * classes;
            const Score* const best = std::max_element(row, row + classes);
            max[i] = *best;
            double others = 0;
            for (const Score* score = row; score != row + classes; ++score) {
              if (score != best) others += std::exp(*score - max[i]);
            }
            log_sum[i] = std::isfinite(max[i])
                             ? std::log1p(others)
                             : std::numeric_limits<double>::quiet_NaN();
          }
        });
  }
  double operator()(Score score, std::int64_t i) const {
    return (score - max[i]) - log_sum[i];
  }

  std::vector<double> max;
  std::vector<double> log_sum;
};

}  // namespace tally::internal
