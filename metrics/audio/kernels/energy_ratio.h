#pragma once

#include <cstdint>

namespace tally::internal::audio {

/// How the estimate of a sample is compared with its reference.
struct RatioRule {
  /// Whether the reference is first scaled to be nearest to the estimate.
  bool scale_invariant = false;
  /// Whether each channel's mean is removed first.
  bool zero_mean = false;
};

/// Of a sample of `channels` times `time` values.
template <class T>
struct SamplePair {
  const T* preds;
  const T* target;
  std::int64_t channels;
  std::int64_t time;
};

/// Whether the reference is 0 throughout, or with zero_mean constant in each
/// channel.
template <class T>
bool is_silent(const SamplePair<T>& sample, bool zero_mean);

/// 10 log10((s^2 + epsilon) / (d^2 + epsilon)): energies of the reference s and
/// of its difference d to the estimate, in decibels. Sums are float64 and in a
/// fixed order.
template <class T>
double energy_ratio(const SamplePair<T>& sample, const RatioRule& rule,
                    double epsilon);

/// Writes the derivatives of the ratio by each value, times the factor, unless
/// null; 0 for a constant signal less its mean.
template <class T>
void energy_slopes(const SamplePair<T>& sample, const RatioRule& rule,
                   double epsilon, double factor, T* of_preds, T* of_target);

extern template bool is_silent(const SamplePair<float>&, bool);
extern template bool is_silent(const SamplePair<double>&, bool);
extern template double energy_ratio(const SamplePair<float>&, const RatioRule&,
                                    double);
extern template double energy_ratio(const SamplePair<double>&, const RatioRule&,
                                    double);
extern template void energy_slopes(const SamplePair<float>&, const RatioRule&,
                                   double, double, float*, float*);
extern template void energy_slopes(const SamplePair<double>&, const RatioRule&,
                                   double, double, double*, double*);

}  // namespace tally::internal::audio
