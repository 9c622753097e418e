#pragma once

#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/features/states/feature_samples.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MemorizationInformedFrechetInceptionDistance.
struct MemorizationInformedFrechetInceptionDistanceOptions {
  /// A mean distance of at least this, in (0, 1], counts as 1.
  TORCH_ARG(double, cosine_distance_eps) = 0.1;

 public:
  void visit(OptionVisitor& v) {
    v("cosine_distance_eps", cosine_distance_eps_, OptionRole::kValue,
      "Mean distances of at least this count as 1.");
  }
  void validate(const char* metric) const;
};

/// Memorization-informed Frechet inception distance (MiFID): the Frechet
/// inception distance, divided by the distance of generated samples to the
/// nearest real ones, so that copies of real samples score badly.
///
///     FID / (d + 1e-14), d = mean over y of min over x of 1 - |cos(x, y)|
///
/// for real samples x and generated samples y; d is 1 if it is at least
/// cosine_distance_eps. Rows of zeros are excluded from d.
/// update(features, real, ids = {}): see FeatureSamples; ids make no
/// difference.
/// Result: 0-dim float64, at least 0; NaN for fewer than two samples of either
/// kind, and if all of a kind are zeros.
/// State: see FeatureSamples, which keeps all features.
/// NaN, infinity: the result is NaN; NanPolicy::kIgnore skips rows with NaN.
/// Errors: see FeatureSamples; c10::ValueError for cosine_distance_eps outside
/// of (0, 1], and for real and generated features of different D.
/// Not differentiable.
/// Source: Bai et al. 2021 and the code of their competition. TorchMetrics'
/// mean is over real samples.
///
/// Example:
///     MemorizationInformedFrechetInceptionDistance mifid;
///     mifid.update(at::randn({100, 16}), true);
///     mifid.update(at::randn({100, 16}), false);
///     double value = mifid.compute().item<double>();
class MemorizationInformedFrechetInceptionDistance final
    : public MetricOf<MemorizationInformedFrechetInceptionDistance,
                      FeatureSamples, at::Tensor,
                      MemorizationInformedFrechetInceptionDistanceOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName =
      "MemorizationInformedFrechetInceptionDistance";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfFeatures;
  static constexpr MetricSummary kSummary{
      "Frechet distance, with a penalty for memorized samples (MiFID).",
      "[0, inf)",
      "",
      "mifid",
      R"(\frac{FID}{d_{mem}})",
      "Bai et al. 2021"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<
    MemorizationInformedFrechetInceptionDistance, FeatureSamples, at::Tensor,
    MemorizationInformedFrechetInceptionDistanceOptions>;

}  // namespace tally
