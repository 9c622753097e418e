#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/sampling.h"

/// Intervals of proportions and areas, as functions.
namespace tally {

/// Wilson's score interval for `successes` of `n` independent trials: the
/// proportions p with |successes / n - p| <= z sqrt(p (1 - p) / n).
///
/// In [0, 1], and NaN if n is 0. Its coverage is close to the level on average,
/// also for few trials and extreme proportions. Throws c10::ValueError for a
/// level outside (0, 1), and unless 0 <= successes <= n.
/// Source: Wilson 1927; proportion_confint of statsmodels.
///
/// Example:
///     IntervalBounds bounds = wilson_interval(95, 100, 0.95);
IntervalBounds wilson_interval(double successes, double n, double level);

/// The same by Clopper and Pearson: covers at least at the level, always, and
/// is wider. Source: Clopper and Pearson 1934.
IntervalBounds clopper_pearson_interval(double successes, double n,
                                        double level);

/// Newcombe's interval for an area under the ROC curve of `positives` and
/// `negatives` samples: the areas t with |area - t| <= z sqrt(V(t)),
///
///     V(t) = t (1 - t) / (P Q) (1 + (N - 1) ((1 - t) / (2 - t) + t / (1 + t)))
///     N = (P + Q) / 2
/// Wider than DeLong's, but not empty at areas of 0 and 1. NaN without samples
/// of either class. Throws c10::ValueError for a level outside (0, 1) and an
/// area outside [0, 1]. Source: Newcombe 2006, method 5.
IntervalBounds newcombe_interval(double area, double positives,
                                 double negatives, double level);

/// An area under the ROC curve with its standard error.
struct AreaEstimate {
  double area = 0;
  double standard_error = 0;
  double positives = 0;  ///< samples, whatever their weights
  double negatives = 0;
  /// Of samples with weights Kish's effective numbers, (sum w)^2 / sum w^2; 0:
  /// the numbers themselves.
  double effective_positives = 0;
  double effective_negatives = 0;

  double counted_positives() const {
    return effective_positives > 0 ? effective_positives : positives;
  }
  double counted_negatives() const {
    return effective_negatives > 0 ? effective_negatives : negatives;
  }
  /// Of the smaller class.
  double degrees_of_freedom() const {
    return std::min(counted_positives(), counted_negatives()) - 1;
  }
};

/// DeLong's standard error of the area under the ROC curve.
///
/// scores: real [N], target: 0 and 1 of any real dtype [N], weight: real [N]
/// (default: 1).
///
///     se^2 = P / (P - 1) sum over positives of (w (v - A) / W+)^2
///          + Q / (Q - 1) sum over negatives of (w (v - A) / W-)^2
/// where v is the fraction of the other class that a sample is in order with,
/// W are sums of weights, and P and Q the effective numbers of samples, so that
/// a sample of weight 0 changes nothing. NaN unless each class has more than
/// one.
/// Throws c10::ValueError for other sizes, NaN, targets other than 0 and 1,
/// and weights below 0.
/// Source: DeLong, DeLong and Clarke-Pearson 1988.
AreaEstimate delong(const at::Tensor& scores, const at::Tensor& target,
                    const at::Tensor& weight = {});

/// The same for samples that are sorted. Without weights, they are counted.
AreaEstimate delong(const ScoredSamples& samples);

/// The interval on the logit scale, with the quantile of Student's t
/// distribution with min(P, Q) - 1 degrees of freedom, of the effective
/// numbers; Newcombe's where the standard error is 0 or undefined.
IntervalBounds delong_interval(const AreaEstimate& estimate, double level);

/// The lower low and the higher high end of delong_interval() and
/// newcombe_interval(): DeLong's is too narrow where classes are small or areas
/// large, Newcombe's where the classes' scores do not spread alike.
IntervalBounds delong_newcombe_interval(const AreaEstimate& estimate,
                                        double level);

namespace internal::intervals {
/// Throws c10::ValueError unless it is in (0, 1).
void check_level(double level);
/// V of newcombe_interval().
double area_variance(double area, double positives, double negatives);
}  // namespace internal::intervals

}  // namespace tally
