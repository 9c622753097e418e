#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Computes weights of pairs, [n], from this rank's rows of both views, of
/// length 1.
using PairWeights =
    std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)>;

/// Options for DCLLoss.
struct DCLLossOptions : RankOptions<DCLLossOptions> {
  TORCH_ARG(double, temperature) = 0.1;
  /// Weights of the pairs' similarities. Called once for each of the two views,
  /// with that view first. Default: none, which means 1.
  TORCH_ARG(PairWeights, weight_fn) = nullptr;

 public:
  void visit(OptionVisitor& v) {
    v("temperature", temperature_, tally::internal::words::kSimilarityDivisor);
  }
};

/// Options for DCLWLoss.
struct DCLWLossOptions : RankOptions<DCLWLossOptions> {
  TORCH_ARG(double, temperature) = 0.1;
  TORCH_ARG(double, sigma) = 0.5;

 public:
  void visit(OptionVisitor& v) {
    v("temperature", temperature_, tally::internal::words::kSimilarityDivisor);
    v("sigma", sigma_, "Divisor of the similarities in weights of pairs.");
  }
};

/// Decoupled contrastive learning: NT-Xent without the pair itself in the
/// denominator.
///
///   loss = mean over rows i of both views of
///          -w_i * sim(i, i') + log sum of exp(sim(i, j)) over all rows j of
///          both views except i and its pair i', sim = cosine / temperature
///
/// forward() takes this rank's rows of two views, [n, D], of any floating
/// dtype, computed in float32 or wider regardless of autocast; n may differ
/// between ranks and be 0. Logits are computed for a few rows at a time, and
/// recomputed in backward; features are gathered.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has rows. Gradients: averaged over the ranks, those of parameters
/// equal those of one process with all rows, including second-order gradients.
/// Every rank's backward() takes part in one exchange.
///
/// Throws c10::ValueError for invalid arguments and for a single pair in total,
/// which has no negatives, while the other ranks throw SyncError kPeerFailed.
/// Yeh et al., arXiv 2110.06848; lightly's DCLLoss.
///
/// Example:
///     losses::DCLLoss dcl(losses::DCLLossOptions().temperature(0.2));
///     dcl->forward(model->forward(x), model->forward(y)).backward();
///     sync::average_gradients(model->parameters());
class DCLLossImpl : public internal::LossModule<DCLLossImpl, DCLLossOptions> {
 public:
  static constexpr const char* kName = "DCLLoss";
  static constexpr LossSummary kSummary{
      "The decoupled contrastive loss over all ranks.",
      "a, b, weight_a?, weight_b?",
      "",
      "decoupled contrastive, dcl",
      R"(\frac{1}{2N} \sum_i -z_i \cdot z_{i'} / \tau + \log \sum_{k \ne i, i'} e^{z_i \cdot z_k / \tau})",
      "Yeh et al. 2022"};

  explicit DCLLossImpl(DCLLossOptions options = DCLLossOptions());

  at::Tensor forward(const at::Tensor& a, const at::Tensor& b);
};

TORCH_MODULE(DCLLoss);

/// DCLLoss with the paper's weights, w_i = 2 - M * softmax_i(cosine(i, i') /
/// sigma) over all M pairs, which are constants in every derivative. lightly
/// uses the softmax over each rank's own pairs, which differs from the loss of
/// one process.
///
/// Example:
///     losses::DCLWLoss dclw;
///     dclw->forward(model->forward(x), model->forward(y)).backward();
class DCLWLossImpl
    : public internal::LossModule<DCLWLossImpl, DCLWLossOptions> {
 public:
  static constexpr const char* kName = "DCLWLoss";
  static constexpr LossSummary kSummary{
      "The decoupled contrastive loss with weights of the pairs.",
      "a, b",
      "",
      "dclw",
      R"(\frac{1}{2N} \sum_i -w_i z_i \cdot z_{i'} / \tau + \log \sum_{k \ne i, i'} e^{z_i \cdot z_k / \tau})",
      "Yeh et al. 2022"};

  explicit DCLWLossImpl(DCLWLossOptions options = DCLWLossOptions());

  at::Tensor forward(const at::Tensor& a, const at::Tensor& b);
};

TORCH_MODULE(DCLWLoss);

namespace functional {

/// See DCLLoss.
at::Tensor dcl_loss(const at::Tensor& a, const at::Tensor& b,
                    const DCLLossOptions& options = {});

/// See DCLWLoss.
at::Tensor dclw_loss(const at::Tensor& a, const at::Tensor& b,
                     const DCLWLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<DCLLossImpl, DCLLossOptions>;
extern template class internal::LossModule<DCLWLossImpl, DCLWLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::DCLLossImpl>;
extern template class torch::nn::Cloneable<tally::losses::DCLWLossImpl>;
