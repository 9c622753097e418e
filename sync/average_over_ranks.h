#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "tally/sync/communicator.h"
#include "tally/sync/gradient_flow.h"

namespace tally::sync {

/// The mean over the samples of all ranks, computed from each rank's mean over
/// its own samples:
///
///     sum over ranks r of  n_r / M * mean_r,   M = sum over ranks of n_r
///
/// `mean` is this rank's mean, with the same size and floating dtype on all
/// ranks, and `count` its n_r: a number of samples or a sum of weights. The
/// value is bit-identical on every rank, including infinities. A rank with
/// count 0 contributes nothing, whatever its mean (such as 0 / 0); if every
/// count is 0, the result is NaN. Throws c10::ValueError if a count is negative
/// or not finite, and SyncError like the collectives.
///
/// Gradient, for a loss that is the same on every rank: that of the own mean
/// times W * n_r / M (kReplicated: exact when gradients are averaged) or times
/// n_r / M (kLocal: exact when they are summed), both without communication in
/// backward; kAllRanks is for losses that differ between ranks. Second-order
/// gradients are also exact, and take one exchange.
///
/// Example:
///     at::Tensor use = scores.softmax(1);  // of codes, by this rank's samples
///     at::Tensor mean = sync::average_over_ranks(use.mean(0), use.size(0));
///     mean.mul(mean.log()).sum().backward();
at::Tensor average_over_ranks(
    const at::Tensor& mean, double count,
    GradientFlow flow = GradientFlow::kReplicated,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

}  // namespace tally::sync
