#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_options.h"

/// What the clustering metrics do with their inputs.
namespace tally::internal::clustering {

/// c10::TypeError or c10::ValueError unless both are dense, of integer dtypes,
/// and of one shape.
void check_label_pairs(const at::Tensor& preds, const at::Tensor& target);

/// Points with their labels, int64 [N].
struct LabeledPoints {
  at::Tensor data, labels;
};

/// c10::TypeError or c10::ValueError unless data is dense, real and [N, D], D
/// at least 1, and labels are integers [N]. Points with a NaN go by the policy;
/// unless it is kPropagate, this waits for the device.
LabeledPoints labeled_points(const at::Tensor& data, const at::Tensor& labels,
                             NanPolicy policy);

}  // namespace tally::internal::clustering
