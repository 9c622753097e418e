#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal {

/// Sums of doubles that depend neither on the order of the terms nor on how
/// they were split: in fixed point, with 96 bits behind the point. Terms
/// between 2^-44 and 2^31 are added exactly, smaller ones as multiples of
/// 2^-96; 2^30 of them fit. NaN and infinities have the effect that they have
/// in floating point. As a field of a state, the tensor merges by addition.
///
/// Used as:
///     ExactSums sums(1);
///     for (const double score : scores) sums.add(0, score);
///     state.sum = sums.tensor();
///     ...
///     double mean = ExactSums::value(state.sum) / state.total;
class ExactSums {
 public:
  explicit ExactSums(std::size_t count) : parts_(kParts * count) {}
  /// REQUIRES: the term's magnitude is below 2^31, or it is not finite.
  void add(std::size_t sum, double term);
  /// int64 [count, 7].
  at::Tensor tensor() const;

  /// A sum of such a tensor, rounded once; 0 if it is undefined. Throws
  /// c10::ValueError for any other tensor.
  static double value(const at::Tensor& sums, std::size_t sum = 0);

 private:
  // Whole numbers, three parts of 32 bits behind the point, and how many terms
  // were plus infinity, minus infinity and NaN.
  static constexpr std::size_t kParts = 7;

  std::vector<std::int64_t> parts_;
};

}  // namespace tally::internal
