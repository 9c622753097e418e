#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for SmoothAPLoss.
struct SmoothAPLossOptions : RankOptions<SmoothAPLossOptions> {
  /// Differences of scores are divided by it before the sigmoid.
  TORCH_ARG(double, temperature) = 0.01;

 public:
  void visit(OptionVisitor& v) {
    v("temperature", temperature_,
      "Softness of the sigmoids that stand for ranks.");
  }
};

/// 1 - average precision, with ranks made smooth by a sigmoid.
///
///   R_i = 1 + sum over other samples j of sigmoid((s_j - s_i) / temperature),
///   loss = 1 - mean over positives i of R+_i / R_i
/// R+_i being the same sum over positives.
///
/// forward(preds, target) takes this rank's scores, of any size and floating
/// dtype, and as many labels 0 and 1, of integers or bool; it computes in
/// float64, in which gradients do not vanish as soon as sigmoids are 1 in
/// float32. The numbers of samples may differ between ranks and be 0.
///
/// The ranking is that of the samples of all ranks: positives are gathered (8
/// bytes each), and four numbers for each are summed over the ranks. O(N+ n)
/// for n samples of this rank, in tiles.
///
/// forward(preds, target, query) also takes the number of each sample's query,
/// integers of the size of preds, and gives the mean over queries with
/// positives on any rank; samples are ranked among those of their query, on all
/// ranks. The queries of positives are gathered, too (8 bytes each).
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has positives. Gradients: averaged over the ranks, those of
/// parameters equal those of one process with all samples; no communication in
/// backward. Second-order gradients are a c10::Error. NaN scores give NaN.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Brown et al., arXiv 2007.12163.
///
/// Example:
///     losses::SmoothAPLoss ap(losses::SmoothAPLossOptions().temperature(0.1));
///     const at::Tensor output = model->forward(x).select(1, 0);
///     ap->forward(output, target.eq(1)).backward();
///     sync::average_gradients(model->parameters());
class SmoothAPLossImpl
    : public internal::LossModule<SmoothAPLossImpl, SmoothAPLossOptions> {
 public:
  static constexpr const char* kName = "SmoothAPLoss";
  static constexpr LossSummary kSummary{
      "1 - average precision with sigmoids for comparisons, over all ranks.",
      "preds, target, query?",
      "",
      "smooth ap",
      R"(1 - \frac{1}{|P|} \sum_{i \in P} \frac{1 + \sum_{j \in P} \sigma_{ij}}{1 + \sum_j \sigma_{ij}})",
      "Brown et al. 2020"};

  explicit SmoothAPLossImpl(
      SmoothAPLossOptions options = SmoothAPLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& query = {});
};

TORCH_MODULE(SmoothAPLoss);

namespace functional {

/// See SmoothAPLoss.
at::Tensor smooth_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                          const SmoothAPLossOptions& options = {},
                          const at::Tensor& query = {});

}  // namespace functional
extern template class internal::LossModule<SmoothAPLossImpl,
                                           SmoothAPLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::SmoothAPLossImpl>;
