#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal::regression {

/// Counts samples (x, y) with few distinct values, ordered by both.
class ValueTable {
 public:
  /// False if the table would have more cells than there are samples, or if
  /// there is a NaN; its contents are then meaningless.
  bool count(const float* x, const float* y, std::int64_t samples);
  bool count(const double* x, const double* y, std::int64_t samples);

  std::size_t distinct_x() const { return distinct_x_; }
  std::size_t distinct_y() const { return distinct_y_; }
  /// The number of samples with the x and y at these positions.
  std::int64_t cell(std::size_t x, std::size_t y) const {
    return cells_[x * distinct_y_ + y];
  }

 private:
  template <class T>
  bool count_values(const T* x, const T* y, std::int64_t samples);

  std::size_t distinct_x_ = 0, distinct_y_ = 0;
  std::vector<std::int64_t> cells_;
};

/// The number of pairs i < j with ranks[i] > ranks[j]; ranks are below
/// `distinct`. Both arrays are overwritten. Uses ATen's threads. REQUIRES:
/// count < 2^32.
std::int64_t count_inversions(std::uint32_t* ranks, std::uint32_t* spare,
                              std::int64_t count, std::int64_t distinct);

}  // namespace tally::internal::regression
