#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/nominal/states/category_options.h"
#include "tally/metrics/nominal/states/category_pairs.h"
#include "tally/metrics/nominal/states/column_pairs.h"

namespace tally {

/// Tschuprow's T: how strongly two categorical variables are associated; 1 only
/// if they have as many categories.
///
///     sqrt(phi2 / sqrt((r - 1)(c - 1))), phi2 = chi2 / N
/// of a table with r rows and c columns that occur. With bias_correction, the
/// default, phi2, r and c are as in CramersV.
///
/// update(preds, target): see CramersV, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]. NaN, errors, options: as in CramersV. Not
/// differentiable.
/// Source: Tschuprow 1939, Bergsma 2013; as scipy.stats.contingency.association
/// without bias_correction.
///
/// Example:
///     TschuprowsT t;
///     t.update(at::randint(5, {32}, at::kLong),
///              at::randint(3, {32}, at::kLong));
///     double value = t.compute().item<double>();
class TschuprowsT final : public MetricOf<TschuprowsT, CategoryPairs,
                                          at::Tensor, TschuprowsTOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TschuprowsT";
  static constexpr MetricSummary kSummary{
      "Association by chi-squared; 1 only for square tables.",
      "[0, 1]",
      "",
      "tschuprow's t",
      R"(\sqrt{\frac{\chi^2 / N}{\sqrt{(R - 1)(C - 1)}}})",
      "Tschuprow 1939"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Tschuprow's T of every two columns of a data set.
///
/// update(data): categories [N, V], whole numbers of any real dtype, or texts
/// (see Keys).
/// Result: [V, V] in float64, symmetric, 1 on the diagonal; each value is that
/// of TschuprowsT, by the rows that have both. [0, 0] before any update.
/// State, NaN, errors, options: as in CramersVMatrix, with which it shares its
/// state. Not differentiable.
///
/// Example:
///     TschuprowsTMatrix t;
///     t.update(at::randint(3, {32, 4}, at::kLong));
///     at::Tensor matrix = t.compute();
class TschuprowsTMatrix final
    : public MetricOf<TschuprowsTMatrix, ColumnPairs, at::Tensor,
                      TschuprowsTMatrixOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TschuprowsTMatrix";
  static constexpr MetricSummary kSummary{
      "Tschuprow's T of each pair of columns.",
      "[0, 1]",
      "",
      "tschuprow's t matrix",
      R"(\sqrt{\frac{\chi^2 / N}{\sqrt{(R - 1)(C - 1)}}})",
      "Tschuprow 1939"};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TschuprowsT, CategoryPairs, at::Tensor,
                               TschuprowsTOptions>;
extern template class MetricOf<TschuprowsTMatrix, ColumnPairs, at::Tensor,
                               TschuprowsTMatrixOptions>;

}  // namespace tally
