#pragma once

#include <cstdint>

/// What is read from sorted keys of pack_samples(), in the widest vectors that
/// the machine has.
namespace tally::internal::classification {

struct PairsInOrder {
  /// Pairs of a positive and a negative below it, and half of those of equal
  /// scores; twice that.
  std::uint64_t twice = 0;
  std::int64_t positives = 0;
};
PairsInOrder count_pairs_in_order(const std::uint32_t* keys, std::int64_t size);
PairsInOrder count_pairs_in_order(const std::uint64_t* keys, std::int64_t size);

std::int64_t count_positives(const std::uint32_t* keys, std::int64_t size);
std::int64_t count_positives(const std::uint64_t* keys, std::int64_t size);
/// The same of keys in any order.
std::int64_t count_unsorted_positives(const std::uint32_t* keys,
                                      std::int64_t size);
std::int64_t count_unsorted_positives(const std::uint64_t* keys,
                                      std::int64_t size);

/// Over positives, the sum of the precision at their score. `positives` and
/// `all` are how many there are of these keys and of higher ones; no group of
/// equal scores is cut.
double sum_precisions(const std::uint32_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all);
double sum_precisions(const std::uint64_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all);

}  // namespace tally::internal::classification
