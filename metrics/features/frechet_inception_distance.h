#pragma once

#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/features/states/feature_moments.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Frechet inception distance (FID): the distance between the features of real
/// and of generated samples, each taken as a normal distribution.
///
///     |m1 - m2|^2 + tr S1 + tr S2 - 2 tr (S1 S2)^1/2
///
/// with the means m and the covariances S, which are unbiased (divided by
/// N - 1).
/// update(features, real): [N, D] of any real dtype, and whether the samples
/// are real: [N], or one flag for all. A FeatureExtractor turns images into
/// features. Values can be compared only if the network is the same.
/// Result: 0-dim float64, at least 0; NaN for fewer than two samples of either
/// kind. The value is exact also with fewer samples than D; with more of them,
/// but linearly dependent features, it is exact to 1e-7.
/// State: see FeatureMoments; its size does not depend on the number of
/// samples. To compute the statistics of real samples once, keep them in a
/// metric of their own, and merge_state() it after each reset().
/// NaN: propagates; NanPolicy::kIgnore skips the row. Infinity gives NaN.
/// Errors: see FeatureMoments.
/// Differentiable in features, once.
/// Source: Heusel et al. 2017. The root's trace is that of eigenvalues after a
/// Cholesky decomposition, of singular values where there are few samples
/// (Mathiasen and Hvilshoj 2020).
///
/// Example:
///     FrechetInceptionDistance fid;
///     fid.update(at::randn({100, 16}), true);
///     fid.update(at::randn({100, 16}), false);
///     double value = fid.compute().item<double>();
class FrechetInceptionDistance final
    : public MetricOf<FrechetInceptionDistance, FeatureMoments, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "FrechetInceptionDistance";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfFeatures;
  static constexpr MetricSummary kSummary{
      "Distance of real and generated features as normal distributions.",
      "[0, inf)",
      "",
      "fid, frechet distance, fad",
      R"(\|\mu_r - \mu_g\|^2 + \mathrm{tr} (\Sigma_r + \Sigma_g - 2 (\Sigma_r \Sigma_g)^{1/2}))",
      "Heusel et al. 2017"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<FrechetInceptionDistance, FeatureMoments,
                               at::Tensor>;

}  // namespace tally
