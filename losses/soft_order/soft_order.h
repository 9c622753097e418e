#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"

namespace tally {
namespace losses {

/// What soft ranks and sorted values are projected by.
enum class SoftOrderPenalty {
  kQuadratic,  ///< the Euclidean distance
  kEntropic,   ///< the Kullback-Leibler divergence
};

}  // namespace losses

template <>
struct EnumNames<losses::SoftOrderPenalty> {
  static constexpr const char* kNames[] = {"quadratic", "entropic"};
};

namespace losses {

/// Options of SoftRank and SoftSort.
template <class Self>
struct SoftOrderOptions {
  TALLY_INHERITED_ARG(Self, SoftOrderPenalty,
                      penalty) = SoftOrderPenalty::kQuadratic;
  /// Near 0 the result is that of the hard operation, and derivatives are 0 or
  /// those of a permutation.
  TALLY_INHERITED_ARG(Self, double, strength) = 1;
  /// Values are divided by the standard deviation of their row first, so that
  /// the result does not depend on their scale.
  TALLY_INHERITED_ARG(Self, bool, relative) = false;
  /// From the largest value to the smallest.
  TALLY_INHERITED_ARG(Self, bool, descending) = false;

 public:
  void visit(OptionVisitor& v) {
    v("penalty", penalty_, tally::internal::words::kPenalty);
    v("strength", strength_, tally::internal::words::kStrength);
    v("relative", relative_, tally::internal::words::kRelative);
    v("descending", descending_, "Whether the largest value is first.");
  }
};

/// Options for SoftRank.
struct SoftRankOptions : SoftOrderOptions<SoftRankOptions> {};
/// Options for SoftSort.
struct SoftSortOptions : SoftOrderOptions<SoftSortOptions> {};

/// Ranks from 1 to n with derivatives: the projection of values / strength onto
/// the convex hull of the permutations of (1, ..., n).
///
///   s = values / strength in descending order, w = (n, ..., 1)
///   v = argmin over v_1 >= ... >= v_n of |v - (s - w)|^2
///   ranks = s - v, in the order of values
/// With kEntropic, exp(s - v), where v has the least sum of exp(s_i - v_i) +
/// w_i v_i.
///
/// forward(values) takes any floating dtype, [..., n], and ranks the last
/// dimension; it computes in float64 and returns the ranks in float32 or wider.
/// Equal values get the same rank, the mean of theirs. Ranks are hard where
/// neighbors differ by more than `strength`, with derivatives 0; above about
/// the range of values divided by n, all are affine functions of values.
///
/// O(n log n), without matrices; on the CPU. Differentiable, including
/// second-order gradients. A row with a NaN or an infinity is NaN. Each rank
/// ranks its own rows; SoftSpearmanLoss ranks those of all.
///
/// Throws c10::ValueError for invalid arguments. Blondel et al., arXiv
/// 2002.08871; fast-soft-sort, and torchsort's soft_rank.
///
/// Example:
///     losses::SoftRank soft_rank(losses::SoftRankOptions().strength(0.1));
///     const at::Tensor ranks = soft_rank->forward(model->forward(x).t());
class SoftRankImpl
    : public internal::LossModule<SoftRankImpl, SoftRankOptions> {
 public:
  static constexpr const char* kName = "SoftRank";
  static constexpr LossSummary kSummary{
      "Differentiable ranks along the last dimension.",
      "values",
      "",
      "soft ranks, differentiable ranking",
      R"(\mathrm{proj}_{P(\rho)}(-x / \epsilon))",
      "Blondel et al. 2020"};

  explicit SoftRankImpl(SoftRankOptions options = SoftRankOptions());

  at::Tensor forward(const at::Tensor& values);
};

TORCH_MODULE(SoftRank);

/// Sorted values with derivatives: the projection of (1, ..., n) / strength
/// onto the convex hull of the permutations of values.
///
/// forward(values): as SoftRank's, also what it costs. Near the strength 0,
/// values are sorted; with larger ones, neighbors are drawn together until all
/// are their mean (with kEntropic, the logarithm of the mean of their
/// exponentials).
///
/// Blondel et al., arXiv 2002.08871; torchsort's soft_sort.
///
/// Example:
///     losses::SoftSort soft_sort;
///     const at::Tensor median =
///         soft_sort->forward(preds).select(-1, preds.size(-1) / 2);
class SoftSortImpl
    : public internal::LossModule<SoftSortImpl, SoftSortOptions> {
 public:
  static constexpr const char* kName = "SoftSort";
  static constexpr LossSummary kSummary{
      "Differentiable sorting along the last dimension.",
      "values",
      "",
      "differentiable sorting",
      R"(\mathrm{proj}_{P(x)}(\rho / \epsilon))",
      "Blondel et al. 2020"};

  explicit SoftSortImpl(SoftSortOptions options = SoftSortOptions());

  at::Tensor forward(const at::Tensor& values);
};

TORCH_MODULE(SoftSort);

namespace functional {

/// See SoftRank.
at::Tensor soft_rank(const at::Tensor& values,
                     const SoftRankOptions& options = {});

/// See SoftSort.
at::Tensor soft_sort(const at::Tensor& values,
                     const SoftSortOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<SoftRankImpl, SoftRankOptions>;
extern template class internal::LossModule<SoftSortImpl, SoftSortOptions>;

}  // namespace losses
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::SoftRankImpl>;
extern template class torch::nn::Cloneable<tally::losses::SoftSortImpl>;
