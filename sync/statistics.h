#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

/// Statistics over all ranks for reporting: results carry no graph, and a
/// tensor with a graph is rejected, naming the function that preserves it, so
/// that no gradient is lost silently. If that is intended, detach() it.
///
/// Collective; throws SyncError like the collectives, and c10::ValueError.
namespace tally::sync {

/// Every rank's tensor, in rank order: gather_all_tensors without gradients.
std::vector<at::Tensor> gather_statistics(
    const at::Tensor& tensor,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

/// The sum over the ranks; int64 for integers and bool. Differentiable:
/// all_reduce.
at::Tensor sum_statistics(const at::Tensor& tensor,
                          std::shared_ptr<Communicator> communicator = nullptr,
                          Timeout timeout = {});

/// The mean over all ranks' samples, computed from each rank's mean over its
/// `count` samples. Differentiable: average_over_ranks.
at::Tensor mean_statistics(const at::Tensor& mean, double count,
                           std::shared_ptr<Communicator> communicator = nullptr,
                           Timeout timeout = {});

}  // namespace tally::sync
