#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for BarlowTwinsLoss.
struct BarlowTwinsLossOptions : RankOptions<BarlowTwinsLossOptions> {
  /// Weight of the correlations between different features.
  TORCH_ARG(double, lambda) = 5e-3;
  TORCH_ARG(double, eps) = 1e-5;

 public:
  void visit(OptionVisitor& v) {
    v("lambda_", lambda_, "Weight of correlations of different features.");
    v("eps", eps_, tally::internal::words::kAddedToVariances);
  }
};

/// The loss of Barlow Twins: features of two views should correlate only with
/// themselves.
///
///   c_ij = correlation over all rows of feature i of a and feature j of b
///   loss = sum_i (c_ii - 1)^2 + lambda * sum_{i != j} c_ij^2
///
/// forward() takes this rank's projections of the two views, [n, D], of any
/// floating dtype, computed in float32 or wider regardless of autocast; n may
/// differ between ranks and be 0. Means and variances (biased, plus eps) are
/// those of all ranks' rows, so that the loss is that of the global batch;
/// lightly uses those of each rank's own rows, which gives a different loss.
/// For the same reason no SyncBatchNorm is needed before it.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has rows. Gradients: averaged over the ranks, those of parameters
/// equal those of one process with all rows, including second-order gradients.
/// Two collectives in forward, with D * D numbers for any number of rows and
/// ranks; none in backward; two for second-order gradients.
///
/// Throws c10::ValueError for invalid arguments and for a single row in total,
/// which has no correlations, while the other ranks throw SyncError
/// kPeerFailed. Zbontar et al., arXiv 2103.03230; lightly's BarlowTwinsLoss.
///
/// Example:
///     losses::BarlowTwinsLoss barlow;
///     barlow->forward(model->forward(x), model->forward(y)).backward();
///     sync::average_gradients(model->parameters());
class BarlowTwinsLossImpl
    : public internal::LossModule<BarlowTwinsLossImpl, BarlowTwinsLossOptions> {
 public:
  static constexpr const char* kName = "BarlowTwinsLoss";
  static constexpr LossSummary kSummary{
      "The redundancy reduction of Barlow Twins over all ranks.",
      "a, b",
      "",
      "barlow twins",
      R"(\sum_i (1 - C_{ii})^2 + \lambda \sum_{i \ne j} C_{ij}^2)",
      "Zbontar et al. 2021"};

  explicit BarlowTwinsLossImpl(
      BarlowTwinsLossOptions options = BarlowTwinsLossOptions());

  at::Tensor forward(const at::Tensor& a, const at::Tensor& b);
};

TORCH_MODULE(BarlowTwinsLoss);

namespace functional {

/// See BarlowTwinsLoss.
at::Tensor barlow_twins_loss(const at::Tensor& a, const at::Tensor& b,
                             const BarlowTwinsLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<BarlowTwinsLossImpl,
                                           BarlowTwinsLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::BarlowTwinsLossImpl>;
