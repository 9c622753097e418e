#include "tally/metrics/clustering/mutual_info_score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/clustering/kernels/expected_information.h"
#include "tally/metrics/tables/contingency.h"
#include "tally/metrics/tables/information.h"

namespace tally {

namespace clustering = internal::clustering;
namespace tables = internal::tables;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
  return kNaN;
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

double normalized(const tables::Contingency& table, AverageMethod method) {
  if (table.total == 0) return kNaN;
  if (are_same_clusters(table)) return 1;
  if (has_one_cluster(table)) return 0;
  return std::min(
      tables::mutual_information(table) / mean_entropy(method, table), 1.0);
}

double adjusted(const tables::Contingency& table, AverageMethod method) {
  if (table.total == 0) return kNaN;
  if (are_same_clusters(table)) return 1;
  if (has_one_cluster(table) || has_lone_samples(table)) return 0;
  const double expected =
      clustering::expected_information(table.rows, table.columns, table.total);
  return (tables::mutual_information(table) - expected) /
         (mean_entropy(method, table) - expected);
}

}  // namespace

at::Tensor MutualInfoScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(
      table.total == 0 ? kNaN : tables::mutual_information(table));
}

at::Tensor NormalizedMutualInfoScore::evaluate(const State& state) const {
  return internal::scalar_tensor(
      normalized(tables::contingency_of(state), options().average_method()));
}

at::Tensor AdjustedMutualInfoScore::evaluate(const State& state) const {
  return internal::scalar_tensor(
      adjusted(tables::contingency_of(state), options().average_method()));
}

}  // namespace tally
