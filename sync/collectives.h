#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tally/sync/autograd.h"
#include "tally/sync/communicator.h"
#include "tally/sync/gather.h"
#include "tally/sync/reduction.h"

/// Differentiable collectives.
///
/// Backward is the adjoint: an input's gradient is that of the *sum of all
/// ranks' losses*, with each rank's `backward()` contributing the gradients of
/// its own loss. Parameter gradients that are averaged afterwards
/// (average_gradients, DistributedDataParallel) are therefore those of the
/// *mean* of the ranks' losses, and exact if that mean is the loss of the
/// global batch. Summed, they are W times that. docs/gradients.md has the
/// derivation.
///
/// Participation: every rank calls forward, and if any rank's input carries a
/// graph, every rank's output does, and every rank's backward pass communicates
/// once: call `backward()` on all of them. A rank that uses only part of the
/// output, or no tensor of a list, contributes zeros. A rank whose loss does
/// not use the output at all must `tie` the two (autograd.h). Collectives run
/// backward in the reverse order of their calls, whatever is computed from
/// them.
///
/// Ranks agree in a slot of constant size before data is moved (small tensors
/// are sent in it: one collective, otherwise two). Throws SyncError: kMismatch,
/// the same on every rank, if calls, options, dtypes or sizes differ where they
/// must not; kPeerFailed if another rank rejected its arguments, which is a
/// c10::ValueError there. The group remains usable after both.
///
/// Dtypes: all, for dense tensors. float16 and bfloat16 are summed in float32,
/// forward and backward; sums of integers and bool are int64, as in at::sum.
/// Differentiable to any order: if one rank's backward pass creates a graph,
/// every rank's must, and every rank takes part in the next pass. It leads to
/// the inputs of all ranks, even those without rows, so that autograd::grad
/// with respect to them works on all ranks. Outputs are on the device of the
/// rank's input.
namespace tally::sync {

/// All ranks' rows, in rank order, on every rank: `cat(tensors, 0)`. Ranks may
/// pass different numbers of rows, none, or an undefined tensor; a 0-dim tensor
/// is one row. Backward: reduce_scatter. For a list, or other gradient
/// conventions, see gather_all_tensors.
///
/// Example:
///     at::Tensor logits = features.matmul(sync::all_gather(features).t());
///     at::Tensor loss = logits.logsumexp(1).mean();  // of this rank's rows
///     loss.backward();  // reaches the other ranks' features
///     sync::average_gradients(model->parameters());
at::Tensor all_gather(const at::Tensor& tensor,
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// The reduction of all ranks' tensors, which have the same size and dtype;
/// bit-identical on every rank. The input is not modified. kMin and kMax
/// propagate NaN. Backward of kSum and kMean: the same reduction. Backward of
/// kMin and kMax: the sum of the ranks' gradients goes to the rank that holds
/// the extreme, divided equally among ties. kMean rejects integers.
at::Tensor all_reduce(const at::Tensor& tensor,
                      Reduction reduction = Reduction::kSum,
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// Rank r's rows of the sum (or kMean) of all ranks' tensors, which have the
/// same size and dtype: `rows[r]` rows, by default the same number for each
/// rank. Backward: all_gather.
at::Tensor reduce_scatter(const at::Tensor& tensor,
                          Reduction reduction = Reduction::kSum,
                          const std::vector<std::int64_t>& rows = {},
                          std::shared_ptr<Communicator> communicator = nullptr,
                          Timeout timeout = {});

/// The root's tensor, on every rank. Other ranks pass an undefined tensor, or
/// one like the root's. Backward: the root gets the sum, the others zeros.
at::Tensor broadcast(const at::Tensor& tensor, int root,
                     std::shared_ptr<Communicator> communicator = nullptr,
                     Timeout timeout = {});

/// Sends `rows[r]` rows of `tensor` to rank r (by default the same number to
/// each), in order; the result is the rows received from the ranks, in rank
/// order. Dtypes and sizes except for dimension 0 are equal on all ranks.
/// Backward: all_to_all.
at::Tensor all_to_all(const at::Tensor& tensor,
                      const std::vector<std::int64_t>& rows = {},
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// The same with one tensor per rank, of any sizes and the same dtype.
std::vector<at::Tensor> all_to_all(
    const std::vector<at::Tensor>& tensors,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

/// Sends `tensor` to the rank `shift` steps ahead in the ring of ranks, and
/// returns the tensor received from the rank `shift` steps behind. Sizes may
/// differ, dtypes may not. Backward: the same in the opposite direction.
at::Tensor ring_exchange(const at::Tensor& tensor, int shift = 1,
                         std::shared_ptr<Communicator> communicator = nullptr,
                         Timeout timeout = {});

}  // namespace tally::sync
