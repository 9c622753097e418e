#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/nominal/states/category_options.h"
#include "tally/metrics/nominal/states/category_pairs.h"
#include "tally/metrics/nominal/states/column_pairs.h"

namespace tally {

/// Theil's U, the uncertainty coefficient: the fraction of the entropy of preds
/// that target explains.
///
///     U(preds | target) = 1 - H(preds | target) / H(preds)
///
/// update(preds, target): see CramersV.
/// Result: 0-dim float64 in [0, 1]; it changes if preds and target are
/// exchanged. Exactly 1 where the target decides preds; 0 where preds have a
/// single category and there is nothing to explain. NaN without samples.
/// State, NaN, errors, nan_strategy, num_classes: as in CramersV, with which it
/// shares its state. Not differentiable.
/// Source: Theil 1970, with TorchMetrics' order of the variables; also
/// scikit-learn's completeness_score(target, preds), unless preds are constant.
///
/// Example:
///     TheilsU u;
///     u.update(at::randint(5, {32}, at::kLong),
///              at::randint(3, {32}, at::kLong));
///     double value = u.compute().item<double>();
class TheilsU final
    : public MetricOf<TheilsU, CategoryPairs, at::Tensor, TheilsUOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TheilsU";
  static constexpr MetricSummary kSummary{
      "The fraction of the entropy of preds that target explains.",
      "[0, 1]",
      "",
      "theil's u, uncertainty coefficient",
      R"(\frac{H(X) - H(X | Y)}{H(X)})",
      "Theil 1970"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Theil's U of every two columns of a data set.
///
/// update(data): categories [N, V], whole numbers of any real dtype, or texts
/// (see Keys).
/// Result: [V, V] in float64, U(x_i | x_j) of columns i and j at [i, j], 1 on
/// the diagonal; each value is that of TheilsU, by the rows that have both.
/// [0, 0] before any update.
/// State, NaN, errors: as in CramersVMatrix, with which it shares its state.
/// Not differentiable.
///
/// Example:
///     TheilsUMatrix u;
///     u.update(at::randint(3, {32, 4}, at::kLong));
///     at::Tensor matrix = u.compute();
class TheilsUMatrix final : public MetricOf<TheilsUMatrix, ColumnPairs,
                                            at::Tensor, TheilsUMatrixOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TheilsUMatrix";
  static constexpr MetricSummary kSummary{
      "Theil's U of each pair of columns.", "[0, 1]",    "", "theil's u matrix",
      R"(\frac{H(X) - H(X | Y)}{H(X)})",    "Theil 1970"};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TheilsU, CategoryPairs, at::Tensor,
                               TheilsUOptions>;
extern template class MetricOf<TheilsUMatrix, ColumnPairs, at::Tensor,
                               TheilsUMatrixOptions>;

}  // namespace tally
