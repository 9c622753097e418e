#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "tally/metrics/results.h"

namespace tally {

/// Mean and standard deviation (of a population: divided by their number) of
/// the values of several parts of the data; 0-dim float64.
struct SplitStatistics {
  at::Tensor mean, std;
  void visit(ResultParts& parts) { parts("mean", mean)("std", std); }
};

namespace internal::features {
/// NaN without values.
SplitStatistics statistics_of(const std::vector<double>& values);
}  // namespace internal::features

}  // namespace tally
