#pragma once

#include <cstddef>
#include <vector>

namespace tally::internal::detection {

/// A box and another, by their places.
struct BoxPair {
  std::size_t box;
  std::size_t other;
};

/// The one-to-one pairs of `boxes` and `others` whose scores, [boxes, others],
/// have the largest sum, in the order of the boxes: as many as there are of the
/// fewer. Of equal sums, the lexicographically first pairs.
std::vector<BoxPair> best_pairs(const std::vector<double>& scores,
                                std::size_t boxes, std::size_t others);

}  // namespace tally::internal::detection
