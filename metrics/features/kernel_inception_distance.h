#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/features/split_statistics.h"
#include "tally/metrics/features/states/feature_samples.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of KernelInceptionDistance.
///
/// Example:
///     KernelInceptionDistance kid(
///         KernelInceptionDistanceOptions().subsets(0));  // all pairs
struct KernelInceptionDistanceOptions {
  /// The number of random subsets that the distance is estimated on, or 0 for
  /// all samples, which is exact and takes N^2 D operations.
  TORCH_ARG(std::int64_t, subsets) = 100;
  /// Samples of each kind in a subset, or all if there are fewer.
  TORCH_ARG(std::int64_t, subset_size) = 1000;
  TORCH_ARG(std::int64_t, degree) = 3;
  /// The factor of products in the kernel. Default: none, 1 / D.
  TORCH_ARG(std::optional<double>, gamma) = std::nullopt;
  TORCH_ARG(double, coef) = 1;
  /// The seed of the subsets.
  TORCH_ARG(std::int64_t, seed) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("subsets", subsets_, OptionRole::kValue,
      "Number of random subsets; 0: all samples at once.");
    v("subset_size", subset_size_, OptionRole::kValue,
      "Samples of each kind per subset, or all if there are fewer.");
    v("degree", degree_, OptionRole::kValue,
      "Degree of the kernel, (gamma x.y + coef)^degree.");
    v("gamma", gamma_, OptionRole::kValue,
      "Factor of the kernel, (gamma x.y + coef)^degree; none: 1 / D.");
    v("coef", coef_, OptionRole::kValue,
      "Constant of the kernel, (gamma x.y + coef)^degree.");
    v("seed", seed_, OptionRole::kValue, internal::words::kSeed);
  }
  void validate(const char* metric) const;
};

/// Kernel inception distance (KID): the squared maximum mean discrepancy
/// between the features of real and of generated samples.
///
///     mean k(x, x') + mean k(y, y') - 2 mean k(x, y)
///     k(x, y) = (gamma x.y + coef)^degree
///
/// over pairs of different samples (unbiased), on each of `subsets` random
/// subsets, or once on all samples.
/// update(features, real, ids = {}): see FeatureSamples. A subset consists of
/// the samples with the smallest hashes of seed, subset and id: it is the same
/// for any order of samples and any split over ranks. Sums over pairs are
/// exactly the same for any number of threads.
/// Result: {mean, std} over the subsets, 0-dim float64; the mean may be below
/// 0; std is 0 for all samples at once. NaN for fewer than two samples of
/// either kind.
/// State: see FeatureSamples, which keeps all features.
/// NaN, infinity: propagate; NanPolicy::kIgnore skips rows with NaN.
/// Errors: see FeatureSamples; c10::ValueError for real and generated features
/// of different D.
/// Not differentiable.
/// Source: Binkowski et al. 2018; values on given subsets equal those of
/// torch-fidelity 0.4.0.
///
/// Example:
///     KernelInceptionDistance kid;
///     kid.update(at::randn({100, 16}), true);
///     kid.update(at::randn({100, 16}), false);
///     double value = kid.compute().mean.item<double>();
class KernelInceptionDistance final
    : public MetricOf<KernelInceptionDistance, FeatureSamples, SplitStatistics,
                      KernelInceptionDistanceOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "KernelInceptionDistance";
  static constexpr MetricSummary kSummary{
      "Squared maximum mean discrepancy of real and generated features.",
      "any",
      "",
      "kid, mmd, maximum mean discrepancy",
      R"(\mathrm{MMD}^2(X, Y))",
      "Binkowski et al. 2018"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  SplitStatistics evaluate(const State& state) const;
};

extern template class MetricOf<KernelInceptionDistance, FeatureSamples,
                               SplitStatistics, KernelInceptionDistanceOptions>;

}  // namespace tally
