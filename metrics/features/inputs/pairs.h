#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_options.h"

/// Inputs of which row i of one belongs to row i of the other.
namespace tally::internal::features {

/// Rows [N, ...] of both in float64, contiguous. Pairs with a NaN go by the
/// policy: c10::ValueError with kError, naming `what` and the row. REQUIRES: as
/// many rows, on one device.
struct WidePairs {
  at::Tensor a, b;
};
WidePairs wide_pairs(const at::Tensor& a, const at::Tensor& b, const char* what,
                     NanPolicy policy);

/// The numbers of rows without a NaN in either, int64; undefined if all are.
at::Tensor rows_without_nan(const at::Tensor& a, const at::Tensor& b,
                            const char* what, NanPolicy policy);

}  // namespace tally::internal::features
