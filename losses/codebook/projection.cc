#include "tally/losses/codebook/projection.h"

#include <ATen/ops/linear.h>
#include <c10/core/ScalarType.h>

#include "tally/sync/reduction.h"

namespace tally::losses::internal {

at::Tensor projected(const torch::nn::LinearImpl& layer,
                     const at::Tensor& vectors) {
  using sync::accumulate_dtype;
  const at::ScalarType dtype =
      c10::promoteTypes(accumulate_dtype(vectors.scalar_type()),
                        accumulate_dtype(layer.weight.scalar_type()));
  return at::linear(vectors.to(dtype), layer.weight.to(dtype),
                    layer.bias.defined() ? layer.bias.to(dtype) : layer.bias);
}

}  // namespace tally::losses::internal
