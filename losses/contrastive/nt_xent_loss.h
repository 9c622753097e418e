#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <ostream>

#include "tally/losses/contrastive/pairwise_logits.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for NTXentLoss.
struct NTXentLossOptions {
  /// What cosines are divided by; not 0. Default: 0.5.
  TORCH_ARG(double, temperature) = 0.5;
  /// Negatives are those of the batches of all ranks, and the memory bank keeps
  /// all ranks' rows. Without, each rank is on its own. Default: true.
  TORCH_ARG(bool, gather_distributed) = true;
  /// Rows of earlier batches that are negatives in place of the batch's other
  /// rows, as in MoCo. Default: 0, which is no memory bank.
  TORCH_ARG(std::int64_t, memory_bank_size) = 0;
  /// Their size. Default: 0, which is that of the first batch.
  TORCH_ARG(std::int64_t, memory_bank_dim) = 0;
  /// Without a memory bank. Default: kTiled.
  TORCH_ARG(PairwiseLogits, pairwise_logits) = PairwiseLogits::kTiled;
  /// As ClipLossOptions's, for twice the rows. Default: 0.
  TORCH_ARG(std::int64_t, logits_budget_bytes) = 0;
  /// The ranks. Default: sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// How long a step may wait for other ranks. Default: the communicator's.
  TORCH_ARG(sync::Timeout, timeout) = {};
};

/// The normalised, temperature-scaled cross entropy of SimCLR, over the rows of
/// all ranks: with 2M rows z, of length 1, two for each sample,
///
///     1/2M sum_i -log(exp(<z_i, z_pair(i)>/t) / sum_{j != i} exp(<z_i,
///     z_j>/t))
///
/// forward() takes two views' features, [n, D], of any floating dtype and any
/// length; n may differ between ranks and be 0. Computes in float32 or wider,
/// also under autocast, and gives a number of that dtype: the same on every
/// rank if negatives are gathered; 0, with gradients of 0, without any samples.
/// forward() and backward() are collective then.
///
/// With a memory bank it is the mean over the M rows of out0 of the cross
/// entropy of <q, k>/t among <q, bank_j>/t, k the row of out1. Each step whose
/// inputs have a gradient then replaces the bank's oldest rows by out1's, of
/// all ranks in rank order. The bank begins with random rows, the same in every
/// process, and is the buffer `memory_bank`. Gradients of gradients flow, as
/// those of kGathered do.
///
/// Gradients: averaged over the ranks, parameters' are those of one process
/// with all rows; a feature's is W times that.
///
/// Throws c10::ValueError for arguments, and on the other ranks SyncError
/// kPeerFailed; kMismatch if ranks differ in D, dtype or options. Chen et al.,
/// arXiv 2002.05709.
///
/// Example:
///     losses::NTXentLoss loss(losses::NTXentLossOptions().temperature(0.1));
///     loss->forward(x, y).backward();
class NTXentLossImpl : public torch::nn::Cloneable<NTXentLossImpl> {
 public:
  explicit NTXentLossImpl(NTXentLossOptions options = NTXentLossOptions());

  at::Tensor forward(const at::Tensor& out0, const at::Tensor& out1);

  const NTXentLossOptions& options() const { return options_; }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// Rows of length 1, [memory_bank_size, D]; undefined before D is known.
  at::Tensor memory_bank;
  /// The row that is replaced next, int64.
  at::Tensor memory_bank_next;

 private:
  at::Tensor forward_with_bank(const at::Tensor& out0, const at::Tensor& out1);
  void enqueue(const at::Tensor& rows);

  NTXentLossOptions options_;
};

TORCH_MODULE(NTXentLoss);

namespace functional {

/// See NTXentLoss. There is no memory bank: options with one are refused.
at::Tensor nt_xent_loss(const at::Tensor& out0, const at::Tensor& out1,
                        const NTXentLossOptions& options = {});

}  // namespace functional
}  // namespace tally::losses
