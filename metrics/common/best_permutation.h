#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal {

/// For each row of scores [size, size], the column that belongs to it in the
/// best permutation, whose sum of scores is the highest or, to minimize, the
/// lowest. Sums that differ by less than 1e-9 of the
/// largest score count as equal, so that rounding decides nothing; of equal
/// ones the lexicographically first. As few of the wrong infinities as possible
/// come before all else, then as many of the other. With NaN among the scores
/// the permutation that changes nothing.
std::vector<std::int64_t> best_permutation(const std::vector<double>& scores,
                                           std::int64_t size, bool maximize);

/// The same for a score of each of several permutations: the first of the best.
std::int64_t best_place(const std::vector<double>& scores, bool maximize);

}  // namespace tally::internal
