#pragma once

#include <cstdint>

/// Operations on scores that are already in order, with the widest vectors of
/// the machine. Keys are those of pack_samples().
namespace tally::internal::classification {

/// Whether scores are non-decreasing and non-increasing; neither if one is NaN.
struct ScoreOrder {
  bool rising = false;
  bool falling = false;

  bool any() const { return rising || falling; }
};
ScoreOrder order_of(const float* scores, std::int64_t size);
ScoreOrder order_of(const double* scores, std::int64_t size);

void reverse_keys(std::uint32_t* keys, std::int64_t size);
void reverse_keys(std::uint64_t* keys, std::int64_t size);

/// Sorts keys whose scores are already sorted.
void sort_equal_scores(std::uint32_t* keys, std::int64_t size);
void sort_equal_scores(std::uint64_t* keys, std::int64_t size);

}  // namespace tally::internal::classification
