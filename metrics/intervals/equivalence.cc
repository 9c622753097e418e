#include "tally/metrics/intervals/equivalence.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

/// P(T >= t).
double upper_tail(double t, double degrees) {
  const double tail = intervals::student_t_p_value(t, degrees) / 2;
  return t > 0 ? tail : 1 - tail;
}

// NaN passes, as what it gives is NaN.
void check_numbers(double standard_error, double degrees, double margin,
                   double alpha) {
  TORCH_CHECK_VALUE(alpha > 0 && alpha < 0.5,
                    "equivalence_test: expected alpha in (0, 0.5), got ",
                    alpha);
  TORCH_CHECK_VALUE(!(margin <= 0),
                    "equivalence_test: expected a margin above 0, got ",
                    margin);
  TORCH_CHECK_VALUE(!(standard_error < 0),
                    "equivalence_test: expected a standard error of at least "
                    "0, got ",
                    standard_error);
  TORCH_CHECK_VALUE(!(degrees <= 0),
                    "equivalence_test: expected degrees of freedom above 0, "
                    "got ",
                    degrees);
}

}  // namespace

EquivalenceResult equivalence_test(double difference, double standard_error,
                                   double degrees, double margin,
                                   double alpha) {
  check_numbers(standard_error, degrees, margin, alpha);
  EquivalenceResult result;
  const bool is_defined = standard_error > 0 && !std::isnan(degrees) &&
                          !std::isnan(difference) && !std::isnan(margin);
  if (!is_defined) {
    result.low = result.high = result.non_inferiority_p =
        result.non_superiority_p = result.equivalence_p = internal::kNaN;
    return result;
  }
  const double width =
      intervals::student_t_quantile(1 - alpha, degrees) * standard_error;
  result.low = difference - width;
  result.high = difference + width;
  result.non_inferiority_p =
      upper_tail((difference + margin) / standard_error, degrees);
  result.non_superiority_p =
      upper_tail((margin - difference) / standard_error, degrees);
  result.equivalence_p =
      std::max(result.non_inferiority_p, result.non_superiority_p);
  result.is_non_inferior = result.non_inferiority_p <= alpha;
  result.is_equivalent = result.equivalence_p <= alpha;
  return result;
}

}  // namespace tally
