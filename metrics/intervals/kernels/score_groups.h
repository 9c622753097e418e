#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::intervals {

/// The samples with the same score: sums of their weights, and of the squares.
struct ScoreGroup {
  double positives = 0;
  double negatives = 0;
  double squared_positives = 0;
  double squared_negatives = 0;
};

/// The area and its squared standard error by DeLong; `groups` in the order of
/// their scores, ascending.
struct AreaMoments {
  double area = 0;
  double variance = 0;
};
AreaMoments weighted_delong(const std::vector<ScoreGroup>& groups);
/// The same for samples without weights, which are counted.
AreaMoments counted_delong(const std::vector<ScoreGroup>& groups);

}  // namespace tally::internal::intervals
