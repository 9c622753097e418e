#include "tally/metrics/nominal/states/association_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/tables/information.h"

namespace tally::internal::nominal {
namespace {

using tables::Contingency;

double chi_squared_of_four(const Contingency& table) {
  double counts[2][2] = {};
  for (const Contingency::Cell& cell : table.cells) {
    counts[cell.row][cell.column] = static_cast<double>(cell.count);
  }
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double expected = static_cast<double>(table.rows[i]) *
                              static_cast<double>(table.columns[j]) /
                              static_cast<double>(table.total);
      const double difference = std::abs(counts[i][j] - expected);
      const double moved = difference - std::min(0.5, difference);
      sum += moved * moved / expected;
    }
  }
  return sum;
}

double quotient(double numerator, double denominator) {
  return denominator > 0 ? std::sqrt(numerator / denominator) : kNaN;
}

}  // namespace

double phi_squared(const Contingency& table, bool yates) {
  const auto total = static_cast<double>(table.total);
  if (yates && table.rows.size() == 2 && table.columns.size() == 2) {
    return chi_squared_of_four(table) / total;
  }
  // The squared differences of cells that are there, and the expected counts of
  // those that are not: whole numbers of a row's samples, over N.
  std::vector<std::int64_t> absent(table.rows.size(), table.total);
  double sum = 0;
  for (const Contingency::Cell& cell : table.cells) {
    absent[cell.row] -= table.columns[cell.column];
    const double expected = static_cast<double>(table.rows[cell.row]) *
                            static_cast<double>(table.columns[cell.column]) /
                            total;
    const double difference = static_cast<double>(cell.count) - expected;
    sum += difference * difference / expected;
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    sum += static_cast<double>(table.rows[row]) *
           (static_cast<double>(absent[row]) / total);
  }
  return sum / total;
}

Association::Association(const Contingency& table, bool bias_correction,
                         bool yates)
    : phi_squared(nominal::phi_squared(table, yates)),
      rows(static_cast<double>(table.rows.size()) - 1),
      columns(static_cast<double>(table.columns.size()) - 1) {
  if (!bias_correction) return;
  const double others = static_cast<double>(table.total) - 1;
  phi_squared = std::max(phi_squared - rows * columns / others, 0.0);
  rows -= rows * rows / others;
  columns -= columns * columns / others;
}

double cramers_v(const Contingency& table, bool bias_correction, bool yates) {
  if (table.rows.size() < 2 || table.columns.size() < 2) return kNaN;
  const Association a(table, bias_correction, yates);
  return std::min(quotient(a.phi_squared, std::min(a.rows, a.columns)), 1.0);
}

double tschuprows_t(const Contingency& table, bool bias_correction,
                    bool yates) {
  if (table.rows.size() < 2 || table.columns.size() < 2) return kNaN;
  const Association a(table, bias_correction, yates);
  return std::min(quotient(a.phi_squared, std::sqrt(a.rows * a.columns)), 1.0);
}

double pearsons_contingency_coefficient(const Contingency& table) {
  if (table.total == 0) return kNaN;
  const double phi = phi_squared(table, /*yates=*/false);
  return std::sqrt(phi / (1 + phi));
}

double theils_u(const Contingency& table) {
  if (table.total == 0) return kNaN;
  if (table.rows.size() == 1) return 0;
  if (table.columns_decide()) return 1;
  return std::min(tables::mutual_information(table) /
                      tables::entropy(table.rows, table.total),
                  1.0);
}

}  // namespace tally::internal::nominal
