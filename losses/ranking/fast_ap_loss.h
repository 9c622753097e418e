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

/// Options for FastAPLoss.
struct FastAPLossOptions : RankOptions<FastAPLossOptions> {
  /// Number of intervals of the histogram.
  TORCH_ARG(std::int64_t, n_bins) = 10;
  /// The scores of the first and the last bin; scores outside count as these,
  /// with zero gradients. Default: 0 and 1.
  TORCH_ARG(double, lowest) = 0;
  TORCH_ARG(double, highest) = 1;

 public:
  /// Until 0.2.0.
  auto& num_bins(std::int64_t count) { return n_bins(count); }
  void visit(OptionVisitor& v) {
    v("n_bins", n_bins_, "Number of bins of the histogram of scores.");
    v("lowest", lowest_, "Score of the first bin.");
    v("highest", highest_, "Score of the last bin.");
  }
};

/// 1 - average precision from a soft histogram of scores.
///
///   h_j = sum over samples of max(0, 1 - |s - c_j| / width),
///   loss = 1 - 1 / N+ * sum_j h+_j H+_j / H_j
/// with n_bins + 1 centers c_j from highest to lowest, one width apart, h+
/// the histogram of positives, and H, H+ the sums of bins up to j.
///
/// forward(preds, target) takes this rank's scores, of any size and floating
/// dtype, often probabilities or cosines, and as many labels 0 and 1, of
/// integers or bool; it computes in float64. The numbers of samples may differ
/// between ranks and be 0. Histograms are sums over the samples of all ranks:
/// 2 (n_bins + 1) numbers are sent, whatever the number of samples; none in
/// backward.
///
/// forward(preds, target, query) also takes the number of each sample's query,
/// integers of the size of preds, and gives the mean over queries with
/// positives on any rank; samples are ranked among those of their query, on all
/// ranks. There is a histogram for each query, and their numbers are gathered.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has positives. Gradients: averaged over the ranks, those of
/// parameters equal those of one process with all samples, including
/// second-order gradients. NaN scores give NaN.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Cakir et al., CVPR 2019, with scores in place of
/// distances.
///
/// Example:
///     losses::FastAPLoss ap;
///     const at::Tensor output = model->forward(x).select(1, 0).sigmoid();
///     ap->forward(output, target.eq(1)).backward();
///     sync::average_gradients(model->parameters());
class FastAPLossImpl
    : public internal::LossModule<FastAPLossImpl, FastAPLossOptions> {
 public:
  static constexpr const char* kName = "FastAPLoss";
  static constexpr LossSummary kSummary{
      "1 - average precision from a soft histogram over all ranks.",
      "preds, target, query?",
      "",
      "fastap",
      R"(1 - \frac{1}{N_+} \sum_b \frac{H_b^+ h_b^+}{H_b})",
      "Cakir et al. 2019"};

  explicit FastAPLossImpl(FastAPLossOptions options = FastAPLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& query = {});
};

TORCH_MODULE(FastAPLoss);

namespace functional {

/// See FastAPLoss.
at::Tensor fast_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                        const FastAPLossOptions& options = {},
                        const at::Tensor& query = {});

}  // namespace functional
extern template class internal::LossModule<FastAPLossImpl, FastAPLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::FastAPLossImpl>;
