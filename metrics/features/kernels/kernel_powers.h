#pragma once

#include <cstdint>

namespace tally::internal::features {

/// The sum of (gamma * products[i] + coef)^degree over `count` products, with
/// the widest vectors of the processor. REQUIRES: degree >= 1.
double sum_of_powers(const double* products, std::int64_t count, double gamma,
                     double coef, std::int64_t degree);

}  // namespace tally::internal::features
