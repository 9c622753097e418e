#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/losses/contrastive/pairwise_logits.h"
#include "tally/metrics/common/option_words.h"

namespace tally::losses {

/// Options for NTXentLoss.
struct NTXentLossOptions : RankOptions<NTXentLossOptions> {
  /// Divisor of the cosines; not 0.
  TORCH_ARG(double, temperature) = 0.5;
  /// Use negatives from the batches of all ranks, and keep all ranks' rows in
  /// the memory bank. If false, each rank works alone.
  TORCH_ARG(bool, gather_distributed) = true;
  /// Number of rows of earlier batches used as negatives instead of the batch's
  /// other rows, as in MoCo. Default: 0, which means no memory bank.
  TORCH_ARG(std::int64_t, memory_bank_size) = 0;
  /// Size of these rows. Default: 0, which means that of the first batch.
  TORCH_ARG(std::int64_t, memory_bank_dim) = 0;
  /// Applies without a memory bank.
  TORCH_ARG(PairwiseLogits, pairwise_logits) = PairwiseLogits::kTiled;
  /// As in ClipLossOptions, for twice the rows.
  TORCH_ARG(std::int64_t, logits_budget_bytes) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("temperature", temperature_, "Divisor of the cosines.");
    v("gather_distributed", gather_distributed_,
      "Negatives come from the batches of all ranks; false: of this rank.");
    v("memory_bank_size", memory_bank_size_,
      "Number of rows of earlier batches used as negatives; 0: none.");
    v("memory_bank_dim", memory_bank_dim_,
      "Feature size of the memory bank; 0: that of the first batch.");
    v("pairwise_logits", pairwise_logits_, OptionRole::kValue,
      tally::internal::words::kPairwiseLogits);
    v("logits_budget_bytes", logits_budget_bytes_, OptionRole::kValue,
      tally::internal::words::kLogitsBudget);
  }
};

/// The normalized, temperature-scaled cross entropy of SimCLR, over the rows of
/// all ranks: with 2M rows z of length 1, two per sample,
///
///     1/2M sum_i -log(exp(<z_i, z_pair(i)>/t) / sum_{j != i} exp(<z_i,
///     z_j>/t))
///
/// forward() takes two views' features, [n, D], of any floating dtype and any
/// length; n may differ between ranks and be 0. Computes in float32 or wider,
/// also under autocast, and returns a number of that dtype: the same on every
/// rank if negatives are gathered; 0, with zero gradients, without any samples.
/// forward() and backward() are then collective.
///
/// With a memory bank it is the mean over the M rows q of out0 of the cross
/// entropy of <q, k>/t among <q, bank_j>/t, where k is the row of out1. Each
/// step whose inputs require gradients then replaces the bank's oldest rows by
/// those of out1, of all ranks in rank order. The bank starts with random rows,
/// the same in every process, and is stored in the buffer `memory_bank`.
/// Second-order gradients are supported, as with kGathered.
///
/// Gradients: averaged over the ranks, those of parameters equal those of one
/// process with all rows; a feature's gradient is W times that of one process.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; kMismatch if ranks differ in D, dtype or options.
/// Chen et al., arXiv 2002.05709.
///
/// Example:
///     losses::NTXentLoss loss(losses::NTXentLossOptions().temperature(0.1));
///     loss->forward(x, y).backward();
class NTXentLossImpl
    : public internal::LossModule<NTXentLossImpl, NTXentLossOptions> {
 public:
  static constexpr const char* kName = "NTXentLoss";
  static constexpr LossSummary kSummary{
      "The loss of SimCLR and, with a memory bank, of MoCo.",
      "out0, out1",
      "",
      "simclr, moco, nt-xent, infonce",
      R"(-\frac{1}{2N} \sum_i \log \frac{e^{z_i \cdot z_{i'} / \tau}}{\sum_{k \ne i} e^{z_i \cdot z_k / \tau}})",
      "Chen et al. 2020; He et al. 2020"};

  explicit NTXentLossImpl(NTXentLossOptions options = NTXentLossOptions());

  at::Tensor forward(const at::Tensor& out0, const at::Tensor& out1);

  void reset() override;

  /// Rows of length 1, [memory_bank_size, D]; undefined before D is known.
  at::Tensor memory_bank;
  /// Index of the row that is replaced next, int64.
  at::Tensor memory_bank_next;

 private:
  at::Tensor forward_with_bank(const at::Tensor& out0, const at::Tensor& out1);
  void enqueue(const at::Tensor& rows);
};

TORCH_MODULE(NTXentLoss);

namespace functional {

/// See NTXentLoss. Does not support a memory bank: options with one are
/// rejected.
at::Tensor nt_xent_loss(const at::Tensor& out0, const at::Tensor& out1,
                        const NTXentLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<NTXentLossImpl, NTXentLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::NTXentLossImpl>;
