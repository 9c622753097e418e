#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/options.h"

namespace tally::losses {

/// How texts are exchanged between ranks. All give the same numbers, up to
/// rounding.
enum class SigLipExchange {
  /// Texts travel around the ring, logits are computed one tile at a time.
  /// Second-order gradients are rejected with an error.
  kTiledRing,
  // As in OpenCLIP, with full blocks of logits that autograd keeps, and with
  // second-order gradients:
  kBidirectional,  ///< texts are passed on to both neighbors
  kShift,          ///< to the next rank
  kReduce,         ///< each rank's texts go to all ranks, one after the other
  kGather,         ///< all at once
};

/// Options for SigLipLoss.
struct SigLipLossOptions : RankOptions<SigLipLossOptions> {
  /// Default: kTiledRing for features on the CPU; elsewhere it is replaced by
  /// kShift.
  TORCH_ARG(SigLipExchange, exchange) = SigLipExchange::kTiledRing;

 public:
  void visit(OptionVisitor& v) {
    v("exchange", exchange_, OptionRole::kValue,
      "How text features are exchanged; on a GPU tiled_ring becomes shift.");
  }
};

/// The pairwise sigmoid loss of SigLIP, over the pairs of all ranks: for M
/// pairs and z_ij = 1 for i = j, else -1,
///
///     -1/M sum_ij log sigmoid(z_ij (s <image_i, text_j> + b))
///
/// which is normalized by rows, not by pairs: it grows with the batch.
///
/// forward() takes this rank's features, [n, D], of length 1 and any floating
/// dtype; n may differ between ranks and be 0. s and b are numbers that are the
/// same on all ranks; the paper starts with 10 and -10. Computes in float32 or
/// wider, also under autocast, and returns a number of that dtype, the same on
/// every rank; 0, with zero gradients, without any pairs. forward() and
/// backward() are collective. If any rank records gradients, the tiled ring
/// computes them with the loss, in one round: three matrix products in total.
///
/// Gradients: averaged over the ranks, those of parameters (encoders, scale,
/// bias) equal those of one process with all pairs; a feature's gradient is W
/// times that of one process.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; kMismatch if ranks differ in D, dtype, numbers or
/// options. Zhai et al., arXiv 2303.15343.
///
/// Example:
///     losses::SigLipLoss siglip;
///     at::Tensor s = torch::tensor(10.f).requires_grad_(), b = -s;
///     siglip->forward(x, y, s, b).backward();
class SigLipLossImpl
    : public internal::LossModule<SigLipLossImpl, SigLipLossOptions> {
 public:
  static constexpr const char* kName = "SigLipLoss";
  static constexpr LossSummary kSummary{
      "The sigmoid loss of SigLIP over the pairs of all ranks.",
      "image_features, text_features, logit_scale, logit_bias",
      "",
      "siglip",
      R"(-\frac{1}{N} \sum_{i, j} \log \sigma(z_{ij} (s\, x_i \cdot y_j + b)))",
      "Zhai et al. 2023"};

  explicit SigLipLossImpl(SigLipLossOptions options = SigLipLossOptions());

  at::Tensor forward(const at::Tensor& image_features,
                     const at::Tensor& text_features,
                     const at::Tensor& logit_scale,
                     const at::Tensor& logit_bias) const;
};

TORCH_MODULE(SigLipLoss);

namespace functional {

/// See SigLipLoss.
at::Tensor sig_lip_loss(const at::Tensor& image_features,
                        const at::Tensor& text_features,
                        const at::Tensor& logit_scale,
                        const at::Tensor& logit_bias,
                        const SigLipLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<SigLipLossImpl, SigLipLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::SigLipExchange> {
  static constexpr const char* kNames[] = {"tiled_ring", "bidirectional",
                                           "shift", "reduce", "gather"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::SigLipLossImpl>;
