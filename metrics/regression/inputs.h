#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "tally/metrics/metric_options.h"

/// What the regression metrics do with their inputs.
namespace tally::internal {

/// c10::ValueError for num_outputs below 1.
void check_num_outputs(const char* metric, std::int64_t num_outputs);

/// c10::TypeError or c10::ValueError unless preds and target are dense, real,
/// and of one shape: any for one output, else [N, num_outputs].
void check_outputs(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs);

/// For inputs with a NaN, or that may have one, and a policy that wants to
/// know: kError throws, kIgnore returns them without the samples (elements, or
/// rows of several outputs) in which either is NaN. Waits for the device.
std::pair<at::Tensor, at::Tensor> handle_nan(const at::Tensor& preds,
                                             const at::Tensor& target,
                                             std::int64_t num_outputs,
                                             NanPolicy policy);

}  // namespace tally::internal
