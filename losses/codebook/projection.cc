#include "tally/losses/codebook/projection.h"

#include <ATen/ops/linear.h>
#include <c10/core/ScalarType.h>

#include "tally/sync/exchange/agree.h"

namespace tally::losses::internal {

at::Tensor projected(const torch::nn::LinearImpl& layer,
                     const at::Tensor& vectors) {
  using sync::internal::wide;
  const at::ScalarType dtype = c10::promoteTypes(
      wide(vectors.scalar_type()), wide(layer.weight.scalar_type()));
  return at::linear(vectors.to(dtype), layer.weight.to(dtype),
                    layer.bias.defined() ? layer.bias.to(dtype) : layer.bias);
}

}  // namespace tally::losses::internal
