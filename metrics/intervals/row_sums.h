#pragma once

#include <cstdint>
#include <vector>

#include "tally/state/state.h"

namespace tally::internal::intervals {

/// Whether all fields are sums, so that the state of a batch is the sum of
/// those of its rows.
bool is_sum_of_rows(const AnyState& state);

/// Whether a value grows with the number of rows, by that of the same rows
/// twice.
bool doubles(double once, double twice);

/// The numbers of a state that is a sum over rows, field by field, as they are
/// in a batch: the sizes of its tensors are those of each of its rows.
class RowSums {
 public:
  /// Throws c10::ValueError if it keeps rows.
  explicit RowSums(AnyState batch);

  std::int64_t width() const { return width_; }
  /// Of each field; 0 for those that are no sums.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  void read(const AnyState& state, double* into) const;
  /// Into a state without data. `stride`: between numbers of the same state.
  void write(const double* from, std::int64_t stride, AnyState& into) const;

 private:
  AnyState batch_;
  std::vector<std::int64_t> sizes_;
  std::int64_t width_ = 0;
};

}  // namespace tally::internal::intervals
