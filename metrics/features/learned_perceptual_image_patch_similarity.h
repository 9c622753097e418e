#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of LearnedPerceptualImagePatchSimilarity.
///
/// Example:
///     // Two layers: 64 channels of 55 x 55 pixels, and 192 of 27 x 27.
///     LearnedPerceptualImagePatchSimilarity lpips(
///         LearnedPerceptualImagePatchSimilarityOptions(
///             {64, 192}, {55 * 55, 27 * 27}));
struct LearnedPerceptualImagePatchSimilarityOptions {
  LearnedPerceptualImagePatchSimilarityOptions(
      std::vector<std::int64_t> channels, std::vector<std::int64_t> pixels)
      : channels_(std::move(channels)), pixels_(std::move(pixels)) {}
  explicit LearnedPerceptualImagePatchSimilarityOptions(internal::Unset) {}
  /// The number of channels of each layer.
  TORCH_ARG(std::vector<std::int64_t>, channels);
  /// The number of pixels, height times width, of each layer.
  TORCH_ARG(std::vector<std::int64_t>, pixels);
  /// Learned weights of all channels, layer by layer. Default: [], all 1.
  TORCH_ARG(std::vector<double>, weights) = {};

 public:
  void visit(OptionVisitor& v) {
    v("channels", channels_, "Channels of each layer.");
    v("pixels", pixels_, "Height times width of each layer.");
    v("weights", weights_,
      "Learned weights of all channels, layer by layer; []: 1.");
  }
  void validate(const char* metric) const;
};

/// The observer of LearnedPerceptualImagePatchSimilarity.
class PerceptualDistances {
 public:
  static constexpr const char* kName = "PerceptualDistances";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, all channels and pixels]"},
      {"target", InputKind::kReal, "real [N, all channels and pixels]"}};
  using Options = LearnedPerceptualImagePatchSimilarityOptions;
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };

  PerceptualDistances(const Options& options,
                      const MetricOptions& metric_options)
      : options_(options), nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  Options options_;
  NanPolicy nan_policy_;
};

/// The layers of a network, [N, C, H, W] each, as one row for each image.
/// c10::ValueError for none, for other shapes, and for different N.
at::Tensor flatten_layers(const std::vector<at::Tensor>& layers);

/// Learned perceptual image patch similarity (LPIPS) of images, from a
/// network's activations of them: the weighted squared distance of normalized
/// features.
///
///     sum over layers l of the mean over pixels p of
///         sum_c w_lc (x_lcp / |x_lp| - y_lcp / |y_lp|)^2
///
/// update(preds, target): layers as flatten_layers() returns them, [N, sum of
/// channels * pixels], of any real dtypes. 1e-10 is added to lengths.
/// Result: the mean over images, 0-dim float64; at least 0 with weights of at
/// least 0. NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the pair.
/// Errors: c10::ValueError for other shapes, for NaN with NanPolicy::kError,
/// and for options that do not fit each other; c10::TypeError for complex or
/// sparse inputs.
/// Differentiable in both inputs; a pixel of zeros, which stays 0, has a
/// gradient of 0.
/// Source: Zhang et al. 2018, lpips 0.1.4.
///
/// Example:
///     LearnedPerceptualImagePatchSimilarity lpips(
///         LearnedPerceptualImagePatchSimilarityOptions({4, 8}, {9, 4}));
///     const auto layers = [] {
///       return flatten_layers(
///           {at::randn({10, 4, 3, 3}), at::randn({10, 8, 2, 2})});
///     };
///     lpips.update(layers(), layers());
///     double value = lpips.compute().item<double>();
class LearnedPerceptualImagePatchSimilarity final
    : public MetricOf<LearnedPerceptualImagePatchSimilarity,
                      PerceptualDistances, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LearnedPerceptualImagePatchSimilarity";
  static constexpr MetricSummary kSummary{
      "Perceptual distance of images by layers of a network (LPIPS).",
      "[0, inf)",
      "channels=[2], pixels=[4]",
      "lpips, perceptual distance",
      R"(\sum_l \frac{1}{H_l W_l} \sum_{h, w} \| w_l \odot (\hat x^l_{hw} - \hat y^l_{hw}) \|^2)",
      "Zhang et al. 2018"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<LearnedPerceptualImagePatchSimilarity,
                               PerceptualDistances, at::Tensor>;

}  // namespace tally
