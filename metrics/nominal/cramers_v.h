#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/nominal/states/category_options.h"
#include "tally/metrics/nominal/states/category_pairs.h"
#include "tally/metrics/nominal/states/column_pairs.h"

namespace tally {

/// Cramer's V: how strongly two categorical variables are associated.
///
///     sqrt(phi2 / min(r - 1, c - 1)), phi2 = chi2 / N
/// of a table with r rows and c columns that occur. With bias_correction, the
/// default, phi2, r and c are
///     max(0, phi2 - (r - 1)(c - 1) / (N - 1)),
///     r - (r - 1)^2 / (N - 1), c - (c - 1)^2 / (N - 1)
///
/// update(preds, target): categories [N], whole numbers of any real dtype, any
/// of them, or texts (see Keys), unless num_classes is set; or scores [N, C],
/// whose category is the place of the largest.
/// Result: 0-dim float64 in [0, 1]. NaN without samples, where one variable has
/// a single category, and with bias_correction if it has as many as samples.
/// State: the counts of pairs that occur, in int64 (see PairCounts).
/// NaN: missing values: such samples are dropped (the default), or get a
/// category; see nan_strategy.
/// Errors: c10::ValueError for other shapes, fractions, categories out of range
/// (if num_classes is set) and NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Not differentiable.
/// Source: Bergsma 2013; as scipy.stats.contingency.association without
/// bias_correction. TorchMetrics' bias_correction also applies Yates's
/// correction to 2 x 2 tables; here that is the option yates.
///
/// Example:
///     CramersV v;
///     v.update(at::randint(5, {32}, at::kLong),
///              at::randint(3, {32}, at::kLong));
///     double value = v.compute().item<double>();
class CramersV final
    : public MetricOf<CramersV, CategoryPairs, at::Tensor, CramersVOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CramersV";
  static constexpr MetricSummary kSummary{
      "Association of two categorical variables, from 0 to 1.",
      "[0, 1]",
      "",
      "cramer's v",
      R"(\sqrt{\frac{\chi^2 / N}{\min(R - 1, C - 1)}})",
      "Cramer 1946"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Cramer's V of every two columns of a data set.
///
/// update(data): categories [N, V], whole numbers of any real dtype, or texts
/// (see Keys).
/// Result: [V, V] in float64, symmetric, 1 on the diagonal; each value is that
/// of CramersV, by the rows that have both. [0, 0] before any update.
/// State: the counts of pairs of categories for each two columns.
/// NaN, errors, options: as in CramersV; c10::ValueError for V that changes.
/// Not differentiable.
///
/// Example:
///     CramersVMatrix v;
///     v.update(at::randint(3, {32, 4}, at::kLong));
///     at::Tensor matrix = v.compute();
class CramersVMatrix final
    : public MetricOf<CramersVMatrix, ColumnPairs, at::Tensor,
                      CramersVMatrixOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CramersVMatrix";
  static constexpr MetricSummary kSummary{
      "Cramer's V of each pair of columns.",
      "[0, 1]",
      "",
      "cramer's v matrix",
      R"(\sqrt{\frac{\chi^2 / N}{\min(R - 1, C - 1)}})",
      "Cramer 1946"};

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CramersV, CategoryPairs, at::Tensor,
                               CramersVOptions>;
extern template class MetricOf<CramersVMatrix, ColumnPairs, at::Tensor,
                               CramersVMatrixOptions>;

}  // namespace tally
