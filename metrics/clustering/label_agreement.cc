#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/clustering/cluster_accuracy.h"
#include "tally/metrics/clustering/fowlkes_mallows_index.h"
#include "tally/metrics/clustering/homogeneity_completeness_v_measure.h"
#include "tally/metrics/clustering/kernels/contingency_scores.h"
#include "tally/metrics/clustering/mutual_info_score.h"
#include "tally/metrics/clustering/rand_score.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/tables/contingency.h"
#include "tally/metrics/tables/information.h"
#include "tally/metrics/tables/label_range.h"

namespace tally {

namespace tables = internal::tables;
namespace clustering = internal::clustering;

namespace {

// Exactly 1 where one decides the other, which rounded entropies may miss.
double homogeneity(const tables::Contingency& table) {
  if (table.rows_decide()) return 1;
  return std::min(tables::mutual_information(table) /
                      tables::entropy(table.columns, table.total),
                  1.0);
}
double completeness(const tables::Contingency& table) {
  if (table.columns_decide()) return 1;
  return std::min(tables::mutual_information(table) /
                      tables::entropy(table.rows, table.total),
                  1.0);
}

double mean_of(AverageMethod method, double a, double b) {
  switch (method) {
    case AverageMethod::kMin:
      return std::min(a, b);
    case AverageMethod::kGeometric:
      return std::sqrt(a * b);
    case AverageMethod::kArithmetic:
      return (a + b) / 2;
    case AverageMethod::kMax:
      return std::max(a, b);
  }
  return internal::kNaN;
}

double mean_entropy(AverageMethod method, const tables::Contingency& table) {
  return mean_of(method, tables::entropy(table.rows, table.total),
                 tables::entropy(table.columns, table.total));
}

// What counts tell exactly, where entropies would be rounded.
bool are_same_clusters(const tables::Contingency& table) {
  return table.rows_decide() && table.columns_decide();
}
bool has_one_cluster(const tables::Contingency& table) {
  return table.rows.size() == 1 || table.columns.size() == 1;
}
// Then mutual information is the same for any table with these sums.
bool has_lone_samples(const tables::Contingency& table) {
  const auto total = static_cast<std::size_t>(table.total);
  return table.rows.size() == total || table.columns.size() == total;
}

double normalized_information(const tables::Contingency& table,
                              AverageMethod method) {
  if (table.total == 0) return internal::kNaN;
  if (are_same_clusters(table)) return 1;
  if (has_one_cluster(table)) return 0;
  return std::min(
      tables::mutual_information(table) / mean_entropy(method, table), 1.0);
}

double adjusted_information(const tables::Contingency& table,
                            AverageMethod method) {
  if (table.total == 0) return internal::kNaN;
  if (are_same_clusters(table)) return 1;
  if (has_one_cluster(table) || has_lone_samples(table)) return 0;
  const double expected =
      clustering::expected_information(table.rows, table.columns, table.total);
  return (tables::mutual_information(table) - expected) /
         (mean_entropy(method, table) - expected);
}

}  // namespace

void ClusterAccuracyOptions::validate(const char* metric) const {
  tables::check_num_classes(metric, num_classes_);
}

at::Tensor ClusterAccuracy::evaluate(const State& state) const {
  const auto table = tables::contingency_of(state);
  if (table.total == 0) {
    return internal::scalar_tensor(internal::kNaN);
  }
  const std::int64_t correct = clustering::largest_assignment(table);
  return internal::scalar_tensor(static_cast<double>(correct) /
                                 static_cast<double>(table.total));
}

at::Tensor RandScore::evaluate(const State& state) const {
  const auto table = tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(internal::kNaN);
  const clustering::PairsOfSamples pairs(table);
  const double disagreeing = pairs.preds_only + pairs.target_only;
  if (disagreeing == 0) return internal::scalar_tensor(1.0);
  const double agreeing = pairs.both + pairs.none;
  return internal::scalar_tensor(agreeing / (agreeing + disagreeing));
}

at::Tensor AdjustedRandScore::evaluate(const State& state) const {
  const auto table = tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(internal::kNaN);
  const clustering::PairsOfSamples pairs(table);
  const auto [tp, fp, fn, tn] = pairs;
  if (fp == 0 && fn == 0) return internal::scalar_tensor(1.0);
  // The difference is of products that are not larger than what divides it:
  // rounding them costs no more than the last digits of the score.
  return internal::scalar_tensor(
      2 * (tp * tn - fn * fp) /
      ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)));
}

at::Tensor FowlkesMallowsIndex::evaluate(const State& state) const {
  const auto table = tables::contingency_of(state);
  if (table.total == 0) {
    return internal::scalar_tensor(internal::kNaN);
  }
  const clustering::PairsOfSamples pairs(table);
  if (pairs.both == 0) return internal::scalar_tensor(0.0);
  return internal::scalar_tensor(
      std::sqrt(pairs.both / (pairs.both + pairs.preds_only)) *
      std::sqrt(pairs.both / (pairs.both + pairs.target_only)));
}

void VMeasureScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(beta_) && beta_ > 0, metric,
                    ": expected beta above 0, got ", beta_);
}

at::Tensor HomogeneityScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(table.total == 0 ? internal::kNaN
                                                  : homogeneity(table));
}

at::Tensor CompletenessScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(table.total == 0 ? internal::kNaN
                                                  : completeness(table));
}

at::Tensor VMeasureScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(internal::kNaN);
  const double h = homogeneity(table);
  const double c = completeness(table);
  const double beta = options().beta();
  return internal::scalar_tensor(
      h + c == 0 ? 0 : (1 + beta) * h * c / (beta * h + c));
}

at::Tensor MutualInfoScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(
      table.total == 0 ? internal::kNaN : tables::mutual_information(table));
}

at::Tensor NormalizedMutualInfoScore::evaluate(const State& state) const {
  return internal::scalar_tensor(normalized_information(
      tables::contingency_of(state), options().average_method()));
}

at::Tensor AdjustedMutualInfoScore::evaluate(const State& state) const {
  return internal::scalar_tensor(adjusted_information(
      tables::contingency_of(state), options().average_method()));
}

template class MetricOf<ClusterAccuracy, LabelPairs, at::Tensor,
                        ClusterAccuracyOptions>;
template class MetricOf<FowlkesMallowsIndex, LabelPairs, at::Tensor>;
template class MetricOf<HomogeneityScore, LabelPairs, at::Tensor>;
template class MetricOf<CompletenessScore, LabelPairs, at::Tensor>;
template class MetricOf<VMeasureScore, LabelPairs, at::Tensor,
                        VMeasureScoreOptions>;
template class MetricOf<MutualInfoScore, LabelPairs, at::Tensor>;
template class MetricOf<NormalizedMutualInfoScore, LabelPairs, at::Tensor,
                        NormalizedMutualInfoScoreOptions>;
template class MetricOf<AdjustedMutualInfoScore, LabelPairs, at::Tensor,
                        AdjustedMutualInfoScoreOptions>;
template class MetricOf<RandScore, LabelPairs, at::Tensor>;
template class MetricOf<AdjustedRandScore, LabelPairs, at::Tensor>;

}  // namespace tally
