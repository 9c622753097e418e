#pragma once

#include <cstdint>

/// The conversion of logits to probabilities, with the widest vectors of the
/// machine: bit-identical on all of them, so that a probability reaches the
/// threshold that is reported for it.
namespace tally::internal::classification {

/// Constants for exp().
struct ExpTerms {
  /// Beyond it, powers are 0 or not needed.
  static constexpr double kLargestExponent = 708;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr double kInverseLog2 = 1.4426950408889634;
  /// log(2) in two parts; the higher one has 42 bits.
  static constexpr double kHigh = 0x1.62e42fefa38p-1;
  static constexpr double kLow = 0x1.ef35793c7673p-45;
  /// (exp(r) - 1 - r) / r^2, exact at Chebyshev's nodes for |r| < log(2) / 2.
  static constexpr double kSeries[10] = {
      0.5000000000000001,    0.16666666666666669,    0.041666666666624164,
      0.008333333333330065,  0.0013888888917196736,  0.00019841269863040559,
      2.480152132234228e-05, 2.7557268480289716e-06, 2.7620075892548164e-07,
      2.51003758422237e-08};
};

/// Constants for log(); the series is 2/3, 2/5, ...
struct LogTerms {
  static constexpr double kRootOf2 = 1.4142135623730951;
  static constexpr double kSeries[11] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                         2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                         2.0 / 19, 2.0 / 21, 2.0 / 23};
};

/// 1 / (1 + exp(-logit)).
void sigmoids(const float* logits, std::int64_t size, double* probabilities);
void sigmoids(const double* logits, std::int64_t size, double* probabilities);

/// exp(x) of logarithms of probabilities. May operate in place.
void exps(const double* logs, std::int64_t size, double* probabilities);

/// The largest logit of a row and the logarithm of the softmax's denominator,
/// relative to it (NaN without a finite largest logit): these give the
/// logarithm of any class's probability, which does not saturate like the
/// probability.
struct LogSoftmaxTerms {
  double max;
  double log_sum;

  double operator()(double logit) const { return (logit - max) - log_sum; }
};
void log_softmax_terms(const float* logits, std::int64_t rows,
                       std::int64_t classes, LogSoftmaxTerms* terms);
void log_softmax_terms(const double* logits, std::int64_t rows,
                       std::int64_t classes, LogSoftmaxTerms* terms);

/// The softmax of each row's logits, computed from its terms.
void softmaxes(const float* logits, std::int64_t rows, std::int64_t classes,
               double* probabilities);
void softmaxes(const double* logits, std::int64_t rows, std::int64_t classes,
               double* probabilities);

/// The logit of a probability in [0, 1].
double logit(double probability);

}  // namespace tally::internal::classification
