#include "tally/metrics/detection/kernels/best_pairs.h"

#include <algorithm>
#include <cstdint>

#include "tally/metrics/best_permutation.h"

namespace tally::internal::detection {

std::vector<BoxPair> best_pairs(const std::vector<double>& scores,
                                std::size_t boxes, std::size_t others) {
  const std::size_t size = std::max(boxes, others);
  // What is added to one side has the same score with everything.
  std::vector<double> square(size * size, 0.0);
  for (std::size_t i = 0; i < boxes; ++i) {
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(i * others),
                others, square.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  const std::vector<std::int64_t> other_of = best_permutation(
      square, static_cast<std::int64_t>(size), /*maximize=*/true);
  std::vector<BoxPair> pairs;
  for (std::size_t i = 0; i < boxes; ++i) {
    const auto other = static_cast<std::size_t>(other_of[i]);
    if (other < others) pairs.push_back({i, other});
  }
  return pairs;
}

}  // namespace tally::internal::detection
