#pragma once

#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/row_scores.h"

namespace tally {

/// Options of CosineSimilarity.
///
/// Example: `CosineSimilarity similarity(RowReduction::kMean);`
struct CosineSimilarityOptions {
  CosineSimilarityOptions(RowReduction reduction = RowReduction::kSum)
      : reduction_(reduction) {}
  /// Default: kSum, as in TorchMetrics.
  TORCH_ARG(RowReduction, reduction);

 public:
  void visit(OptionVisitor& v) {
    v("reduction", reduction_, internal::regression::role_of(reduction_),
      internal::words::kReducedSamples);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
};

/// The score of CosineSimilarity.
struct CosineOfRows {
  static constexpr const char* kName = "CosineOfRows";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, D]"},
      {"target", InputKind::kReal, "real [N, D]"}};
  using Options = CosineSimilarityOptions;
  explicit CosineOfRows(const Options&) {}
  template <class T>
  double operator()(const T* preds, const T* target, std::int64_t size) const;
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  std::optional<internal::regression::RowKind> kernel() const {
    return internal::regression::RowKind::kCosine;
  }
  std::string invalid(const at::Tensor&, const at::Tensor&) const { return ""; }
  const char* domain() const { return "any values"; }
};
extern template class RowScores<CosineOfRows>;

/// The cosine of the angle between each prediction and its target.
///
///     sum_d p_d t_d / (|p| |t|), of rows p and t
///
/// update(preds, target): [N, D], any real dtypes; each row is a sample.
/// Result: the sum or mean over samples (0-dim), or one value each (kNone,
/// [N]); float64. 0 for a row of zeros, as in scikit-learn.
/// State: the sum in float64 and the number of samples, merged by addition;
/// with kNone the scores, concatenated.
/// NaN: propagates; NanPolicy::kIgnore ignores the row.
/// Errors: c10::ValueError for other shapes and for NaN with NanPolicy::kError;
/// c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target; the gradient of a row of zeros is 0.
///
/// Example:
///     CosineSimilarity similarity(RowReduction::kMean);
///     similarity.update(at::randn({8, 3}), at::randn({8, 3}));
///     double value = similarity.compute().item<double>();
class CosineSimilarity final
    : public MetricOf<CosineSimilarity, RowScores<CosineOfRows>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CosineSimilarity";
  static constexpr MetricSummary kSummary{
      "Cosine of the angle between rows.", "[-1, 1] for each row", "", "cosine",
      R"(\frac{\langle \hat y, y \rangle}{\|\hat y\| \|y\|})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CosineSimilarity, RowScores<CosineOfRows>,
                               at::Tensor>;

}  // namespace tally
