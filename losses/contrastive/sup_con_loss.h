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

/// Options for SupConLoss.
struct SupConLossOptions : RankOptions<SupConLossOptions> {
  /// Divisor of the products; above 0.
  TORCH_ARG(double, temperature) = 0.07;
  /// The loss is multiplied by temperature / base_temperature. Default: 0,
  /// which means the temperature.
  TORCH_ARG(double, base_temperature) = 0;
  TORCH_ARG(PairwiseLogits, pairwise_logits) = PairwiseLogits::kTiled;
  /// As in ClipLossOptions, where each view is a row.
  TORCH_ARG(std::int64_t, logits_budget_bytes) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("temperature", temperature_, "Divisor of the products.");
    v("base_temperature", base_temperature_,
      "The loss is scaled by temperature / this; 0: no scaling.");
    v("pairwise_logits", pairwise_logits_, OptionRole::kValue,
      tally::internal::words::kPairwiseLogits);
    v("logits_budget_bytes", logits_budget_bytes_, OptionRole::kValue,
      tally::internal::words::kLogitsBudget);
  }
};

/// The supervised contrastive loss, over the rows of all ranks: the mean over
/// the rows i with positives P_i (other rows with the same label) of
///
///     -1/|P_i| sum_{p in P_i} log(exp(<z_i, z_p>/t) / sum_{j != i} exp(<z_i,
///     z_j>/t))
///
/// forward() takes this rank's features, [n, D], or [n, V, D] for V views of
/// each sample, of length 1 and any floating dtype, and integer labels, [n];
/// without labels, each sample has its own label. n may differ between ranks
/// and be 0. Computes in float32 or wider, also under autocast, and returns a
/// number of that dtype, the same on every rank; 0, with zero gradients, if no
/// row has positives, or there are no rows. Rows without positives are included
/// as columns, but not as rows; in the reference implementation they lower the
/// mean. forward() and backward() are collective.
///
/// Gradients: averaged over the ranks, those of parameters equal those of one
/// process with all rows; a feature's gradient is W times that of one process.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; kMismatch if ranks differ in D, dtype or options.
/// Khosla et al., arXiv 2004.11362.
///
/// Example:
///     losses::SupConLoss supcon;
///     supcon->forward(x, torch::arange(x.size(0)).div(2, "floor")).backward();
class SupConLossImpl
    : public internal::LossModule<SupConLossImpl, SupConLossOptions> {
 public:
  static constexpr const char* kName = "SupConLoss";
  static constexpr LossSummary kSummary{
      "The supervised contrastive loss over the rows of all ranks.",
      "features, labels?",
      "",
      "supcon",
      R"(-\frac{1}{N} \sum_i \frac{1}{|P_i|} \sum_{p \in P_i} \log \frac{e^{z_i \cdot z_p / \tau}}{\sum_{k \ne i} e^{z_i \cdot z_k / \tau}})",
      "Khosla et al. 2020"};

  explicit SupConLossImpl(SupConLossOptions options = SupConLossOptions());

  at::Tensor forward(const at::Tensor& features,
                     const at::Tensor& labels = {}) const;
};

TORCH_MODULE(SupConLoss);

namespace functional {

/// See SupConLoss.
at::Tensor sup_con_loss(const at::Tensor& features,
                        const at::Tensor& labels = {},
                        const SupConLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<SupConLossImpl, SupConLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::SupConLossImpl>;
