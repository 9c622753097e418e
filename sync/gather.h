#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/sync/gradient_flow.h"

namespace tally::sync {

/// Every rank's tensor, in rank order, on every rank.
///
/// Shapes may differ between ranks in every dimension; 0-dim and empty tensors
/// and every dense dtype are fine. A rank that has nothing passes an undefined
/// tensor; its slot is an empty tensor of the others' dtype and dimensions,
/// with the first such rank's sizes behind dimension 0 (undefined if no rank
/// has anything). Slots are on this rank's tensor's device, own slot included;
/// without one, on the CPU.
///
/// This rank's slot is `tensor` itself, graph and all (kLocal), or what `flow`
/// says; see GradientFlow. The other slots carry a graph with kAllRanks only.
/// With kAllRanks every rank's backward() takes part in one exchange.
///
/// One collective up to about 16 KB a rank (4 KB above 64 ranks), else two; the
/// ranks agree on sizes before they exchange them. Throws SyncError: kMismatch,
/// the same on every rank, if dtypes or numbers of dimensions differ. Throws
/// c10::ValueError for sparse and quantized tensors, and the other ranks
/// kPeerFailed.
///
/// Example:
///     auto all = sync::gather_all_tensors(features);       // one per rank
///     auto logits = features.matmul(at::cat(all).t());
std::vector<at::Tensor> gather_all_tensors(
    const at::Tensor& tensor, GradientFlow flow = GradientFlow::kLocal,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

}  // namespace tally::sync
