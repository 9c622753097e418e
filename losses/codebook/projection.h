#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

namespace tally::losses::internal {

/// The output of the layer, computed in float32 or wider regardless of dtypes.
at::Tensor projected(const torch::nn::LinearImpl& layer,
                     const at::Tensor& vectors);

}  // namespace tally::losses::internal
