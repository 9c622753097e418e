#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_options.h"

/// What feature metrics do with their inputs.
namespace tally::internal::features {

/// Features [N, D] of one kind of samples, with their ids if there are any.
struct Samples {
  at::Tensor features, ids;
};
struct RealAndGenerated {
  Samples real, generated;
};

/// c10::TypeError or c10::ValueError unless features are dense, real and [N,
/// D], D at least 1, and ids, if defined, integers [N]; with flags, which
/// become int64 on the CPU, unless these are one integer or N of them, each 0
/// or 1. Rows with a NaN go by the policy, with their flags; unless it is
/// kPropagate, this waits for the device.
Samples checked_samples(const char* input, const at::Tensor& features,
                        const at::Tensor& ids, const MetricOptions& options,
                        at::Tensor* flags = nullptr);

/// Separates real from generated samples, after the same checks.
RealAndGenerated separated(const at::Tensor& features, const at::Tensor& real,
                           const at::Tensor& ids, const MetricOptions& options);

/// Of inputs of which row i of one belongs to row i of the other: rows [N, ...]
/// of both in float64, contiguous. Pairs with a NaN go by the policy:
/// c10::ValueError with kError, naming `what` and the row. REQUIRES: as many
/// rows, on one device.
struct WidePairs {
  at::Tensor a, b;
};
WidePairs wide_pairs(const at::Tensor& a, const at::Tensor& b, const char* what,
                     NanPolicy policy);

/// The numbers of rows without a NaN in either, int64; undefined if all are.
at::Tensor rows_without_nan(const at::Tensor& a, const at::Tensor& b,
                            const char* what, NanPolicy policy);

}  // namespace tally::internal::features
