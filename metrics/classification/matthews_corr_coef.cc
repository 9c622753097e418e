#include "tally/metrics/classification/matthews_corr_coef.h"

#include <cmath>
#include <limits>

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// From shares: a covariance and two variances.
double correlation(double both, double predicted, double target) {
  const double product = predicted * target;
  return product > 0 ? both / std::sqrt(product) : 0;
}

double of_two(const classification::ClassCounts& c) {
  const double n = c.total;
  return correlation(c.tp / n * (c.tn() / n) - c.fp() / n * (c.fn() / n),
                     c.predicted / n * (1 - c.predicted / n),
                     c.target / n * (1 - c.target / n));
}

double of_classes(const classification::CountsRow& row) {
  const double n = row.classes.front().total;
  if (n == 0 || row.classes.front().nans > 0) return kNaN;
  double right = 0;
  double both = 0;
  double predicted = 0;
  double target = 0;
  for (const classification::ClassCounts& c : row.classes) {
    right += c.tp / n;
    both += c.predicted / n * (c.target / n);
    predicted += c.predicted / n * (c.predicted / n);
    target += c.target / n * (c.target / n);
  }
  return correlation(right - both, 1 - predicted, 1 - target);
}

}  // namespace

at::Tensor BinaryMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, of_two);
}

at::Tensor MulticlassMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options()).values(of_classes);
}

at::Tensor MultilabelMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options())
      .averages(Average::kMicro, of_two);
}

}  // namespace tally
