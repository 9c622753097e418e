#include "tally/metrics/clustering/homogeneity_completeness_v_measure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/tables/contingency.h"
#include "tally/metrics/tables/information.h"

namespace tally {

namespace tables = internal::tables;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace

void VMeasureScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(beta_) && beta_ > 0, metric,
                    ": expected beta above 0, got ", beta_);
}

at::Tensor HomogeneityScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(table.total == 0 ? kNaN : homogeneity(table));
}

at::Tensor CompletenessScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  return internal::scalar_tensor(table.total == 0 ? kNaN : completeness(table));
}

at::Tensor VMeasureScore::evaluate(const State& state) const {
  const tables::Contingency table = tables::contingency_of(state);
  if (table.total == 0) return internal::scalar_tensor(kNaN);
  const double h = homogeneity(table);
  const double c = completeness(table);
  const double beta = options().beta();
  return internal::scalar_tensor(
      h + c == 0 ? 0 : (1 + beta) * h * c / (beta * h + c));
}

}  // namespace tally
