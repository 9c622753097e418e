#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

/// The autograd nodes under gather_all_tensors and the sync of metrics.
namespace tally::sync::internal {

/// `tensor` with a gradient that arrives `factor` times as large. A node of its
/// own, so that infinities and NaN in the values do not matter.
at::Tensor scale_gradient(const at::Tensor& tensor, double factor);

/// The values of `values` with the graph of `graph`: where the same number was
/// computed twice, once plainly and bit-equal on every rank, once with a graph.
at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values);

/// Gives gathered values their gradient: `slots[r][i]` is what rank r brought
/// as its i-th tensor (without a graph), `own[i]` this rank's, perhaps with
/// one. The result has slots' values; its backward sums each slot's gradient
/// over the ranks and hands rank r's to rank r, in one exchange for all of
/// them. Every rank calls it if one does, and every rank's backward takes part.
/// Gradients of gradients are refused.
std::vector<std::vector<at::Tensor>> attach_all_ranks(
    const std::vector<at::Tensor>& own,
    const std::vector<std::vector<at::Tensor>>& slots,
    std::shared_ptr<Communicator> communicator);

}  // namespace tally::sync::internal
