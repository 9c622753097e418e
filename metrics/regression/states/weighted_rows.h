#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <vector>

#include "tally/state/fields.h"

namespace tally {

/// Samples to be sorted, [N] or [N, num_outputs] in float64: those without and
/// those with weights are concatenated separately.
struct WeightedRows {
  Rows rows;
  Rows weighted_rows;
  Rows weights;  // [N] of the latter

  void fields(Fields& f) {
    f("rows", rows)("weighted_rows", weighted_rows)("weights", weights);
  }
  bool has_nan() const;
  void set(const at::Tensor& values, const at::Tensor& weight);
};

namespace internal::regression {

/// One output of WeightedRows, on the CPU.
struct WeightedSample {
  at::Tensor rows;  // owns the values
  c10::ArrayRef<double> values;
  std::vector<double> weights;  // empty: all 1

  double weight_of(std::size_t i) const {
    return weights.empty() ? 1 : weights[i];
  }
};
WeightedSample sample_of(const WeightedRows& rows, std::int64_t num_outputs,
                         std::int64_t output);

/// The smallest value whose cumulative weight reaches the fraction `alpha` of
/// the total; if it does exactly, the mean of it and the next one ("averaged
/// inverted CDF"). NaN if there is a NaN, and without weight.
double quantile(const WeightedSample& sample, double alpha);

}  // namespace internal::regression
}  // namespace tally
