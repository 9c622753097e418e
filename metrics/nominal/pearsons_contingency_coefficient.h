#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/nominal/states/category_options.h"
#include "tally/metrics/nominal/states/category_pairs.h"
#include "tally/metrics/nominal/states/column_pairs.h"

namespace tally {

/// Pearson's contingency coefficient: how strongly two categorical variables
/// are associated.
///
///     sqrt(phi2 / (1 + phi2)), phi2 = chi2 / N
///
/// update(preds, target): see CramersV, with which it shares its state.
/// Result: 0-dim float64 in [0, 1); at most sqrt(1 - 1 / k) for k categories,
/// and 0 where a variable has a single one. NaN without samples.
/// NaN, errors, nan_strategy, num_classes: as in CramersV. Not differentiable.
/// Source: as scipy.stats.contingency.association, method "pearson".
///
/// Example:
///     PearsonsContingencyCoefficient coefficient;
///     coefficient.update(at::randint(5, {32}, at::kLong),
///                        at::randint(3, {32}, at::kLong));
///     double value = coefficient.compute().item<double>();
class PearsonsContingencyCoefficient final
    : public MetricOf<PearsonsContingencyCoefficient, CategoryPairs, at::Tensor,
                      PearsonsContingencyCoefficientOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PearsonsContingencyCoefficient";
  static constexpr MetricSummary kSummary{
      "Association by chi-squared: sqrt(chi2 / (chi2 + n)).",
      "[0, 1)",
      "",
      "contingency coefficient",
      R"(\sqrt{\frac{\chi^2 / N}{1 + \chi^2 / N}})",
      "Pearson 1904"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Pearson's contingency coefficient of every two columns of a data set.
///
/// update(data): categories [N, V], whole numbers of any real dtype, or texts
/// (see Keys).
/// Result: [V, V] in float64, symmetric, 1 on the diagonal, as in TorchMetrics;
/// each value is that of PearsonsContingencyCoefficient, by the rows that have
/// both. [0, 0] before any update.
/// State, NaN, errors: as in CramersVMatrix, with which it shares its state.
/// Not differentiable.
///
/// Example:
///     PearsonsContingencyCoefficientMatrix coefficients;
///     coefficients.update(at::randint(3, {32, 4}, at::kLong));
///     at::Tensor matrix = coefficients.compute();
class PearsonsContingencyCoefficientMatrix final
    : public MetricOf<PearsonsContingencyCoefficientMatrix, ColumnPairs,
                      at::Tensor, PearsonsContingencyCoefficientMatrixOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PearsonsContingencyCoefficientMatrix";
  static constexpr MetricSummary kSummary{
      "Pearson's contingency coefficient of each pair of columns.",
      "[0, 1]",
      "",
      "contingency coefficient matrix",
      R"(\sqrt{\frac{\chi^2 / N}{1 + \chi^2 / N}})",
      "Pearson 1904"};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<PearsonsContingencyCoefficient, CategoryPairs,
                               at::Tensor,
                               PearsonsContingencyCoefficientOptions>;
extern template class MetricOf<PearsonsContingencyCoefficientMatrix,
                               ColumnPairs, at::Tensor,
                               PearsonsContingencyCoefficientMatrixOptions>;

}  // namespace tally
