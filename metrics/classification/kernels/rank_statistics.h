#pragma once

#include <cstdint>

/// Statistics of the sorted keys of pack_samples(), with the widest vectors of
/// the machine.
namespace tally::internal::classification {

struct PairsInOrder {
  /// Twice the number of pairs of a positive and a lower negative, with equal
  /// scores counting half.
  std::uint64_t twice = 0;
  std::int64_t positives = 0;
};
PairsInOrder count_pairs_in_order(const std::uint32_t* keys, std::int64_t size);
PairsInOrder count_pairs_in_order(const std::uint64_t* keys, std::int64_t size);

std::int64_t count_positives(const std::uint32_t* keys, std::int64_t size);
std::int64_t count_positives(const std::uint64_t* keys, std::int64_t size);
/// The same for keys in any order.
std::int64_t count_unsorted_positives(const std::uint32_t* keys,
                                      std::int64_t size);
std::int64_t count_unsorted_positives(const std::uint64_t* keys,
                                      std::int64_t size);

/// Over positives, the sum of the precision at their score. `positives` and
/// `all` are the numbers of these and higher keys; groups of equal scores must
/// not be split.
double sum_precisions(const std::uint32_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all);
double sum_precisions(const std::uint64_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all);

}  // namespace tally::internal::classification
