#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/resampling/replicate_weights.h"

namespace tally::internal::intervals {

/// The sums of rows of `width` numbers, one row for each id, with the weights
/// of each replicate; and of the weights themselves: float64 [width + 1,
/// replicates]. A NaN or infinity only counts in replicates where its row's
/// weight is not 0. Where rows are few different ones, they are counted, which
/// is exact and fast.
at::Tensor weighted_sums(const ReplicateWeights& weights,
                         const std::vector<std::int64_t>& ids,
                         const double* rows, std::int64_t width);

}  // namespace tally::internal::intervals
