#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/common/constants.h"

namespace tally {

namespace classification = internal::classification;

namespace {

// The most classes whose squared distances add up in int64 for 4e9 samples.
constexpr std::int64_t kMostQuadraticClasses = 46340;

double kappa(double observed, double expected) {
  return expected == 0 ? internal::kNaN : 1 - observed / expected;
}

double kappa_of_two(const classification::ClassCounts& c) {
  const double predicted = c.predicted / c.total;
  const double target = c.target / c.total;
  return kappa((c.fp() + c.fn()) / c.total,
               predicted * (1 - target) + target * (1 - predicted));
}

// The expected disagreement given the fractions of predictions and targets by
// class.
double expected_disagreement(const classification::CountsRow& row, double total,
                             KappaWeights weights) {
  const auto size = static_cast<double>(row.classes.size());
  double agreement = 0;
  double linear = 0;
  double quadratic = 0;
  double predicted_mean = 0;
  double target_mean = 0;
  double predicted_below = 0;
  double target_below = 0;
  for (std::size_t i = 0; i < row.classes.size(); ++i) {
    const double predicted = row.classes[i].predicted / total;
    const double target = row.classes[i].target / total;
    const double place = static_cast<double>(i) - (size - 1) / 2;
    agreement += predicted * target;
    // |i - j| counts the boundaries between classes that lie between both.
    linear += predicted_below * (1 - target_below) +
              target_below * (1 - predicted_below);
    predicted_below += predicted;
    target_below += target;
    quadratic += (predicted + target) * place * place;
    predicted_mean += predicted * place;
    target_mean += target * place;
  }
  switch (weights) {
    case KappaWeights::kNone:
      return 1 - agreement;
    case KappaWeights::kLinear:
      return linear;
    default:
      return quadratic - 2 * predicted_mean * target_mean;
  }
}

// From shares: a covariance and two variances.
double correlation(double both, double predicted, double target) {
  const double product = predicted * target;
  return product > 0 ? both / std::sqrt(product) : 0;
}

double correlation_of_two(const classification::ClassCounts& c) {
  const double n = c.total;
  return correlation(c.tp / n * (c.tn() / n) - c.fp() / n * (c.fn() / n),
                     c.predicted / n * (1 - c.predicted / n),
                     c.target / n * (1 - c.target / n));
}

double correlation_of_classes(const classification::CountsRow& row) {
  const double n = row.classes.front().total;
  if (n == 0 || row.classes.front().nans > 0) return internal::kNaN;
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

void MulticlassCohenKappaOptions::validate(const char* metric) const {
  MulticlassCountsOptions::validate(metric);
  TORCH_CHECK_VALUE(weights_ != KappaWeights::kQuadratic ||
                        num_classes() <= kMostQuadraticClasses,
                    metric, ": expected num_classes of at most ",
                    kMostQuadraticClasses, " with weights quadratic, got ",
                    num_classes());
}

at::Tensor BinaryCohenKappa::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, kappa_of_two);
}

at::Tensor MulticlassCohenKappa::evaluate(const State& state) const {
  const KappaWeights weights = options().weights();
  return classification::rows_of(state, options()).values([=](const auto& row) {
    const double total = row.classes.front().total;
    if (total == 0 || row.classes.front().nans > 0) return internal::kNaN;
    const double observed =
        weights == KappaWeights::kNone ? total - row.sum().tp : row.distance;
    return kappa(observed / total, expected_disagreement(row, total, weights));
  });
}

at::Tensor BinaryMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, correlation_of_two);
}

at::Tensor MulticlassMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options())
      .values(correlation_of_classes);
}

at::Tensor MultilabelMatthewsCorrCoef::evaluate(const State& state) const {
  return classification::rows_of(state, options())
      .averages(Average::kMicro, correlation_of_two);
}

template class MetricOf<BinaryCohenKappa, BinaryCounts, at::Tensor,
                        BinaryCohenKappaOptions>;
template class MetricOf<MulticlassCohenKappa, MulticlassCounts, at::Tensor,
                        MulticlassCohenKappaOptions>;
template class MetricOf<BinaryMatthewsCorrCoef, BinaryCounts, at::Tensor,
                        BinaryMatthewsCorrCoefOptions>;
template class MetricOf<MulticlassMatthewsCorrCoef, MulticlassCounts,
                        at::Tensor, MulticlassMatthewsCorrCoefOptions>;
template class MetricOf<MultilabelMatthewsCorrCoef, MultilabelCounts,
                        at::Tensor, MultilabelMatthewsCorrCoefOptions>;

}  // namespace tally
