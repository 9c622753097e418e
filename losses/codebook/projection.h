#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace tally::losses::internal {

/// What the layer gives, in float32 or wider whatever the dtype of either.
at::Tensor projected(const torch::nn::LinearImpl& layer,
                     const at::Tensor& vectors);

}  // namespace tally::losses::internal
