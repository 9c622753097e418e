#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/slates/slate_options.h"

namespace tally::losses {

/// The weights of pairs in LambdaLoss, for gains G_i = (2^y_i - 1) / IDCG and
/// discounts D_i = log2(1 + position of i in the order of scores).
enum class LambdaWeight {
  kRankNet,                 ///< 1
  kNDCG1,                   ///< G_i / D_i, of all pairs
  kNDCG2,                   ///< |1 / D(|i-j|) - 1 / D(|i-j| + 1)| |G_i - G_j|
  kLambdaRank,              ///< |1 / D_i - 1 / D_j| |G_i - G_j|
  kNDCG2PlusPlus,           ///< mu kNDCG2 + kLambdaRank
  kGradeDifference,         ///< |y_i - y_j|
  kSquaredGradeDifference,  ///< |y_i^2 - y_j^2|
};

/// What LambdaLoss is a mean over.
enum class LambdaMean {
  kPairs,
  kSlates,  ///< those with a pair
};

/// Options for LambdaLoss.
struct LambdaLossOptions : SlateOptions<LambdaLossOptions> {
  TALLY_INHERITED_ARG(LambdaLossOptions, LambdaWeight,
                      weight) = LambdaWeight::kLambdaRank;
  TALLY_INHERITED_ARG(LambdaLossOptions, LambdaMean,
                      mean_over) = LambdaMean::kPairs;
  /// Only pairs among the first k items in the order of scores count, and the
  /// IDCG is that of k items.
  TALLY_INHERITED_ARG(LambdaLossOptions, std::optional<std::int64_t>,
                      top_k) = std::nullopt;
  /// Factor of the differences of scores.
  TALLY_INHERITED_ARG(LambdaLossOptions, double, sigma) = 1;
  /// Of kNDCG2PlusPlus.
  TALLY_INHERITED_ARG(LambdaLossOptions, double, mu) = 10;

 public:
  void visit(OptionVisitor& v) {
    SlateOptions::visit(v);
    v("weight", weight_, "Weight of each pair of items.");
    v("mean_over", mean_over_, "Mean over pairs, or over slates.");
    v("top_k", top_k_,
      "Only pairs among the first k items by score; none: all.");
    v("sigma", sigma_, "Steepness of the logistic losses.");
    v("mu", mu_, "Weight of ndcg2 in ndcg2_plus_plus.");
  }
};

/// The LambdaLoss framework: a weighted logistic loss of pairs of items in a
/// slate.
///
///   loss = mean of -w_ij log2 sigmoid(sigma (s_i - s_j))
/// over pairs with y_i > y_j (kNDCG1: all pairs, an item and itself included).
/// Weights depend on the order of scores, of equal ones by index, and are
/// constants in derivatives.
///
/// forward(preds, target): as ApproxNDCGLoss's, also what is sent (the sum over
/// pairs, and the number of pairs or slates).
///
/// The result is one number, the same on every rank; 0, with zero gradients,
/// without any pair on any rank. The logarithm is exact far below 0, where
/// allRank's clamps have no gradient.
///
/// Wang et al., CIKM 2018; Burges et al., 2006; allRank's lambdaLoss.
///
/// Example:
///     losses::LambdaLoss lambda(
///         losses::LambdaLossOptions().weight(losses::LambdaWeight::kNDCG2));
///     lambda->forward(model->forward(x), target).backward();
class LambdaLossImpl
    : public internal::LossModule<LambdaLossImpl, LambdaLossOptions> {
 public:
  static constexpr const char* kName = "LambdaLoss";
  static constexpr LossSummary kSummary{
      "Weighted logistic losses of pairs in the slates of all ranks.",
      "preds, target, query?",
      "",
      "lambdarank, ranknet, learning to rank",
      R"(\sum_{y_i > y_j} w_{ij} \log_2 (1 + e^{-\sigma (s_i - s_j)}))",
      "Wang et al. 2018"};

  explicit LambdaLossImpl(LambdaLossOptions options = LambdaLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& query = {});
};

TORCH_MODULE(LambdaLoss);

namespace functional {

/// See LambdaLoss.
at::Tensor lambda_loss(const at::Tensor& preds, const at::Tensor& target,
                       const LambdaLossOptions& options = {},
                       const at::Tensor& query = {});

}  // namespace functional
extern template class internal::LossModule<LambdaLossImpl, LambdaLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::LambdaWeight> {
  static constexpr const char* kNames[] = {"rank_net",
                                           "ndcg1",
                                           "ndcg2",
                                           "lambda_rank",
                                           "ndcg2_plus_plus",
                                           "grade_difference",
                                           "squared_grade_difference"};
};
template <>
struct EnumNames<losses::LambdaMean> {
  static constexpr const char* kNames[] = {"pairs", "slates"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::LambdaLossImpl>;
