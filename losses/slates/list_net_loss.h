#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/slates/slate_options.h"

namespace tally::losses {

/// Options for ListNetLoss.
struct ListNetLossOptions : SlateOptions<ListNetLossOptions> {};

/// The cross-entropy of two distributions over the items of a slate: the
/// softmax of grades, and that of scores.
///
///   loss = -sum_i softmax(y)_i log softmax(s)_i,   the mean over slates
///
/// forward(preds, target): as ApproxNDCGLoss's, also what is sent. Grades may
/// be any numbers except `padding`.
///
/// The result is one number, the same on every rank; 0, with zero gradients,
/// without any slate with an item on any rank.
///
/// Cao et al., ICML 2007; allRank's listNet, which adds 1e-10 to probabilities
/// and gives NaN for a slate of padding.
///
/// Example:
///     losses::ListNetLoss list_net;
///     list_net->forward(model->forward(x), target).backward();
class ListNetLossImpl
    : public internal::LossModule<ListNetLossImpl, ListNetLossOptions> {
 public:
  static constexpr const char* kName = "ListNetLoss";
  static constexpr LossSummary kSummary{
      "Cross-entropy of grades and scores over the slates of all ranks.",
      "preds, target, query?",
      "",
      "listnet",
      R"(-\sum_i \mathrm{softmax}(y)_i \log \mathrm{softmax}(s)_i)",
      "Cao et al. 2007"};

  explicit ListNetLossImpl(ListNetLossOptions options = ListNetLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& query = {});
};

TORCH_MODULE(ListNetLoss);

namespace functional {

/// See ListNetLoss.
at::Tensor list_net_loss(const at::Tensor& preds, const at::Tensor& target,
                         const ListNetLossOptions& options = {},
                         const at::Tensor& query = {});

}  // namespace functional
extern template class internal::LossModule<ListNetLossImpl, ListNetLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::ListNetLossImpl>;
