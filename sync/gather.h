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
/// and all dtypes of dense tensors are supported. A rank without data passes an
/// undefined tensor; its slot is an empty tensor with the others' dtype and
/// number of dimensions, and the sizes of the first such rank after dimension 0
/// (undefined if no rank has data). All slots are on the device of this rank's
/// tensor; without one, on the CPU.
///
/// This rank's slot is `tensor` itself, with its graph (kLocal), or as
/// specified by `flow`; see GradientFlow. The other slots carry a graph only
/// with kAllRanks. With kAllRanks every rank's backward() takes part in one
/// exchange.
///
/// One collective for up to about 16 KB per rank (4 KB above 64 ranks),
/// otherwise two; the ranks agree on sizes first. Throws SyncError: kMismatch,
/// the same on every rank, if dtypes or numbers of dimensions differ. Throws
/// c10::ValueError for sparse and quantized tensors, while the other ranks
/// throw kPeerFailed.
///
/// Example:
///     auto all = sync::gather_all_tensors(features);       // one per rank
///     auto logits = features.matmul(at::cat(all).t());
std::vector<at::Tensor> gather_all_tensors(
    const at::Tensor& tensor, GradientFlow flow = GradientFlow::kLocal,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

}  // namespace tally::sync
