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

/// Options for VICRegLoss.
struct VICRegLossOptions : RankOptions<VICRegLossOptions> {
  /// Weight of the distance between the views.
  TORCH_ARG(double, lambda) = 25;
  TORCH_ARG(double, mu) = 25;
  TORCH_ARG(double, nu) = 1;
  TORCH_ARG(double, eps) = 1e-4;

 public:
  void visit(OptionVisitor& v) {
    v("lambda_", lambda_, "Weight of the distance between the views.");
    v("mu", mu_, "Weight of standard deviations below 1.");
    v("nu", nu_, "Weight of covariances.");
    v("eps", eps_, tally::internal::words::kAddedToVariances);
  }
};

/// The loss of VICReg: variance, invariance, covariance.
///
///   loss = lambda * mean (a - b)^2
///        + mu / 2 * mean over features of max(0, 1 - sqrt(var + eps)), of both
///        + nu / D * sum_{i != j} cov_ij^2, of both
///
/// forward() takes this rank's projections of the two views, [n, ..., D], of
/// any floating dtype, computed in float32 or wider regardless of autocast; n
/// may differ between ranks and be 0. Variances and covariances (unbiased) are
/// those of all ranks' rows; each position between n and D has its own, and the
/// terms are averaged over positions.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has rows. Gradients: averaged over the ranks, those of parameters
/// equal those of one process with all rows, including second-order gradients.
/// Two collectives in forward, with 2 * D * D numbers per position for any
/// number of rows and ranks; none in backward; two for second-order gradients.
///
/// Throws c10::ValueError for invalid arguments and for a single row in total,
/// which has no variance, while the other ranks throw SyncError kPeerFailed.
/// Bardes et al., arXiv 2105.04906; lightly's VICRegLoss.
///
/// Example:
///     losses::VICRegLoss vicreg(losses::VICRegLossOptions().nu(0.5));
///     vicreg->forward(model->forward(x), model->forward(y)).backward();
///     sync::average_gradients(model->parameters());
class VICRegLossImpl
    : public internal::LossModule<VICRegLossImpl, VICRegLossOptions> {
 public:
  static constexpr const char* kName = "VICRegLoss";
  static constexpr LossSummary kSummary{
      "Variance, invariance and covariance of two views, over all ranks.",
      "a, b",
      "",
      "vicreg",
      R"(\lambda s(a, b) + \mu (v(a) + v(b)) / 2 + \nu (c(a) + c(b)))",
      "Bardes, Ponce and LeCun 2022"};

  explicit VICRegLossImpl(VICRegLossOptions options = VICRegLossOptions());

  at::Tensor forward(const at::Tensor& a, const at::Tensor& b);
};

TORCH_MODULE(VICRegLoss);

namespace functional {

/// See VICRegLoss.
at::Tensor vicreg_loss(const at::Tensor& a, const at::Tensor& b,
                       const VICRegLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<VICRegLossImpl, VICRegLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::VICRegLossImpl>;
