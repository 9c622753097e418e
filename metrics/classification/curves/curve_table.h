#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"

namespace tally::internal::classification {

/// The points of each curve of a view, or with kMicro of one curve over all
/// samples.
std::vector<CurvePoints> all_points(const CurveView& view, Average average);

/// A value for each curve of a view: [curves], or of a binary one 0-dim.
at::Tensor per_curve(const CurveView& view, const std::vector<double>& values);

/// A float64 matrix whose rows are filled from the front; NaN fills the rest.
class PaddedRows {
 public:
  PaddedRows(std::int64_t rows, std::int64_t columns);

  double* row(std::int64_t i) { return data_ + i * columns_; }
  /// [rows, columns], or [columns] with `one_row`.
  at::Tensor tensor(bool one_row) const;

 private:
  at::Tensor matrix_;
  double* data_;
  std::int64_t columns_;
};

/// c10::ValueError for kWeighted: curves have no such average.
void check_curve_average(const char* metric, Average average);

}  // namespace tally::internal::classification
