#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "tally/metrics/intervals/replicate_weights.h"

namespace tally::internal::intervals {

/// Sums of rows of numbers, with the weights of each replicate. Rows that occur
/// often are counted, which is exact and fast.
class WeightedSums {
 public:
  WeightedSums(const ReplicateWeights& weights, std::int64_t width);

  /// Adds a row of `width` numbers. A NaN or infinity only counts in replicates
  /// where the row's weight is not 0.
  void add(std::int64_t id, const double* row);
  /// float64 [width, replicates].
  at::Tensor sums() const;

 private:
  std::vector<double>* kind_of(const double* row);

  const ReplicateWeights& weights_;
  std::int64_t width_;
  std::map<std::vector<double>, std::vector<double>> kinds_;  // their weights
  std::vector<double> others_;  // [width, replicates]
  std::vector<std::uint8_t> drawn_;
  std::vector<double> key_;  // of the last row
};

}  // namespace tally::internal::intervals
