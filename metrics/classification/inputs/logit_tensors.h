#pragma once

#include <ATen/core/Tensor.h>

/// logit_kernels.h for tensors: float64 results, without a graph. On a GPU
/// sigmoids and powers consist of the same additions, products and quotients,
/// and are therefore bit-identical; the logarithm of a softmax is the device's
/// own.
namespace tally::internal::classification {

at::Tensor sigmoids(const at::Tensor& logits);
at::Tensor exps(const at::Tensor& logs);

/// Logarithms of the softmax of each row [N, C], NaN without a finite largest
/// logit.
at::Tensor log_softmaxes(const at::Tensor& logits);
/// exps() of these.
at::Tensor softmaxes(const at::Tensor& logits);

/// The first two with tensor operations, as on a GPU.
at::Tensor sigmoids_by_tensors(const at::Tensor& logits);
at::Tensor exps_by_tensors(const at::Tensor& logs);

}  // namespace tally::internal::classification
