#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

/// Numbers over all ranks for reading: results carry no graph, and a tensor
/// that carries one is refused, with the name of the function that keeps it, so
/// that no gradient is lost unseen. Where that is meant, detach() it.
///
/// Collective; throws SyncError as the collectives do, and c10::ValueError.
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

/// The mean over all ranks' samples, from each rank's mean over its `count`
/// samples. Differentiable: average_over_ranks.
at::Tensor mean_statistics(const at::Tensor& mean, double count,
                           std::shared_ptr<Communicator> communicator = nullptr,
                           Timeout timeout = {});

}  // namespace tally::sync
