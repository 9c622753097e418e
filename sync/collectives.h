#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tally/sync/autograd.h"
#include "tally/sync/communicator.h"
#include "tally/sync/gather.h"
#include "tally/sync/reduction.h"

/// Collectives that gradients flow through.
///
/// Backward is the adjoint: an input's gradient is that of the *sum of all
/// ranks' losses*, each rank's `backward()` bringing the gradients of its own.
/// So parameters' gradients that are averaged afterwards (average_gradients,
/// DistributedDataParallel) are those of the *mean* of the ranks' losses, and
/// exact if that mean is the loss of the global batch. Summed, they are W times
/// that. docs/gradients.md has the derivation.
///
/// Who takes part: every rank calls forward, and if any rank's input carries a
/// graph, every rank's output does, and every rank's backward pass communicates
/// once: call `backward()` on all of them. A rank that uses part of the output,
/// or none of a list, brings zeros. A rank whose loss does not touch the output
/// at all has to `tie` the two (autograd.h). Collectives run backward in the
/// reverse of the order in which they were called, whatever is computed from
/// them.
///
/// Ranks agree in a slot of constant size before bytes move (small tensors
/// travel in it: one collective, else two). Throws SyncError: kMismatch, the
/// same on every rank, if they are in different calls or bring other options,
/// dtypes or sizes than allowed; kPeerFailed if another rank refused its
/// arguments, which is a c10::ValueError there. Both leave the group usable.
///
/// Dtypes: all dense ones. float16 and bfloat16 are summed in float32, forward
/// and backward; sums of integers and bool are int64, as those of at::sum.
/// Gradients of gradients flow, to any order: if one rank's backward pass makes
/// a graph, every rank's has to, and the next one is every rank's again. It
/// leads to the ranks' inputs whatever rows they have, so that autograd::grad
/// by them does on all ranks. Outputs are on the device of the rank's input.
namespace tally::sync {

/// All ranks' rows, in rank order, on every rank: `cat(tensors, 0)`. Ranks may
/// bring different numbers of rows, none, or an undefined tensor; numbers of
/// 0 dimensions count as a row each. Backward: reduce_scatter. As a list, and
/// with other gradients: gather_all_tensors.
///
/// Example:
///     at::Tensor logits = features.matmul(sync::all_gather(features).t());
///     at::Tensor loss = logits.logsumexp(1).mean();  // of this rank's rows
///     loss.backward();  // reaches the other ranks' features
///     sync::average_gradients(model->parameters());
at::Tensor all_gather(const at::Tensor& tensor,
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// The reduction of all ranks' tensors, of one size and dtype, bit-equal on
/// every rank; the input is left alone. NaN wins in kMin and kMax. Backward of
/// kSum and kMean: the same reduction. Of kMin and kMax: the sum of the ranks'
/// gradients goes to the rank that holds the extreme; ranks that tie share it
/// equally. kMean refuses integers.
at::Tensor all_reduce(const at::Tensor& tensor,
                      Reduction reduction = Reduction::kSum,
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// Rank r's rows of the sum (or kMean) of all ranks' tensors, of one size and
/// dtype: `rows[r]` of them, by default an equal share. Backward: all_gather.
at::Tensor reduce_scatter(const at::Tensor& tensor,
                          Reduction reduction = Reduction::kSum,
                          const std::vector<std::int64_t>& rows = {},
                          std::shared_ptr<Communicator> communicator = nullptr,
                          Timeout timeout = {});

/// The root's tensor, on every rank. Other ranks pass an undefined tensor, or
/// one that must be like the root's. Backward: the sum goes to the root, zeros
/// to the others.
at::Tensor broadcast(const at::Tensor& tensor, int root,
                     std::shared_ptr<Communicator> communicator = nullptr,
                     Timeout timeout = {});

/// Gives rank r `rows[r]` rows of `tensor` (by default an equal share), in
/// order; the result is what the ranks gave this one, in rank order. Sizes but
/// for dimension 0 and dtypes are equal on all ranks. Backward: all_to_all.
at::Tensor all_to_all(const at::Tensor& tensor,
                      const std::vector<std::int64_t>& rows = {},
                      std::shared_ptr<Communicator> communicator = nullptr,
                      Timeout timeout = {});

/// The same for one tensor a rank, of any sizes and one dtype.
std::vector<at::Tensor> all_to_all(
    const std::vector<at::Tensor>& tensors,
    std::shared_ptr<Communicator> communicator = nullptr, Timeout timeout = {});

/// Sends `tensor` to the rank that is `shift` further on the ring of ranks, and
/// returns what came from the one as far behind. Sizes may differ, dtypes not.
/// Backward: the same, the other way round.
at::Tensor ring_exchange(const at::Tensor& tensor, int shift = 1,
                         std::shared_ptr<Communicator> communicator = nullptr,
                         Timeout timeout = {});

}  // namespace tally::sync
