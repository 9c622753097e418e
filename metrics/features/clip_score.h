#pragma once

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of CLIPScore.
struct CLIPScoreOptions {
  /// Factor of the cosines. Default: 2.5. TorchMetrics has 100.
  TORCH_ARG(double, scale) = 2.5;

 public:
  void visit(OptionVisitor& v) {
    v("scale", scale_, OptionRole::kValue, "Factor of the cosines.");
  }
  void validate(const char* metric) const;
};

/// The observer of CLIPScore.
class FeatureCosines {
 public:
  static constexpr const char* kName = "FeatureCosines";
  static constexpr InputInfo kInputs[] = {
      {"image_features", InputKind::kReal, "real [N, D]"},
      {"text_features", InputKind::kReal, "real [N, D]"}};
  struct State {
    Number sum;  // of cosines above 0
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };

  FeatureCosines(const CLIPScoreOptions&, const MetricOptions& metric_options)
      : nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& image_features,
                const at::Tensor& text_features) const;

 private:
  NanPolicy nan_policy_;
};

/// CLIPScore: how well texts describe images, from the features that a network
/// such as CLIP extracts from both.
///
///     mean of scale * max(cos(image_i, text_i), 0)
///
/// update(image_features, text_features): [N, D] of any real dtypes.
/// Result: 0-dim float64 in [0, scale]; NaN without samples. The cosine with a
/// row of zeros is 0, with a gradient of 0.
/// State: the sum in float64 and the number of samples, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the pair.
/// Errors: c10::ValueError for other shapes, for NaN with NanPolicy::kError,
/// and for a scale that is not finite; c10::TypeError for complex or sparse
/// inputs.
/// Differentiable in both inputs; a cosine of 0 or less has a gradient of 0.
/// Source: Hessel et al. 2021. TorchMetrics clamps the mean, not each cosine.
///
/// Example:
///     CLIPScore score;
///     score.update(at::randn({10, 16}), at::randn({10, 16}));
///     double value = score.compute().item<double>();
class CLIPScore final
    : public MetricOf<CLIPScore, FeatureCosines, at::Tensor, CLIPScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CLIPScore";
  static constexpr MetricSummary kSummary{
      "Cosine similarity of the features of texts and images (CLIPScore).",
      "[0, scale]",
      "",
      "clip score, clip-s",
      R"(\max(s \cos(i, t), 0))",
      "Hessel et al. 2021"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CLIPScore, FeatureCosines, at::Tensor,
                               CLIPScoreOptions>;

}  // namespace tally
