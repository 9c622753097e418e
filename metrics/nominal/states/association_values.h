#pragma once

#include "tally/metrics/tables/contingency.h"

/// Measures of association, of tables.
namespace tally::internal::nominal {

/// Chi-squared over the number of samples: 0 of rows and columns that are
/// independent. `yates` moves the counts of a 2 x 2 table toward those
/// expected, by 1/2 at most. REQUIRES: there are samples.
double phi_squared(const tables::Contingency& table, bool yates);

/// phi squared and the numbers of rows and columns less 1, without the bias
/// that they have for few samples (Bergsma 2013), or as they are.
struct Association {
  Association(const tables::Contingency& table, bool bias_correction,
              bool yates);

  double phi_squared, rows, columns;
};

/// NaN without samples, and with a single row or column, or what the correction
/// takes for that.
double cramers_v(const tables::Contingency& table, bool bias_correction,
                 bool yates);
double tschuprows_t(const tables::Contingency& table, bool bias_correction,
                    bool yates);
double pearsons_contingency_coefficient(const tables::Contingency& table);
/// Of rows, given columns; 0 of a single row. NaN without samples.
double theils_u(const tables::Contingency& table);

}  // namespace tally::internal::nominal
