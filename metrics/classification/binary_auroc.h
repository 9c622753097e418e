#pragma once

#include "tally/metrics/classification/binary_curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of BinaryAUROC.
///
/// Example:
///     BinaryAUROC auroc(BinaryAUROCOptions().thresholds(200));
struct BinaryAUROCOptions {
  /// Where the ROC curve is evaluated: at every score, at a number of equally
  /// spaced thresholds, or at those of a list. Default: at every score.
  TORCH_ARG(Thresholds, thresholds) = {};
  /// In (0, 1]: only the area up to this false positive rate, standardised to
  /// 0.5 for chance and 1 for the best (McClish). Default: none.
  TORCH_ARG(std::optional<double>, max_fpr) = std::nullopt;
  /// What preds are. It matters with thresholds only. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Samples with this target do not count. Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("thresholds", thresholds_.value());
    v("max_fpr", max_fpr_, OptionRole::kValue);
    v("input", input_);
    v("ignore_index", ignore_index_);
  }
  void validate(const char* metric) const;
};

/// The area under the ROC curve: how often a positive has a higher score than a
/// negative, ties counting half.
///
///     AUROC = (#{s_p > s_n} + #{s_p = s_n} / 2) / (#p * #n)
///
/// update(preds, target): scores, floating point, and 0 or 1 of an integer
/// dtype or bool, of the same shape [N, ...]. Result: 0-dim, in [0, 1].
///
/// State: all scores and targets, concatenated; with thresholds a histogram,
/// summed, whose size does not depend on the data. The area is then that of the
/// scores' buckets, from (0, 0) to (1, 1) whatever the thresholds.
///
/// NaN before any update and unless both classes occur. A NaN in preds makes
/// the result NaN; with kIgnore that sample does not count. With thresholds,
/// probabilities outside [0, 1] are a c10::ValueError; exact areas take any
/// score. Not differentiable.
///
/// Source: Hanley and McNeil 1982; max_fpr: McClish 1989, as in scikit-learn.
///
/// Example:
///     BinaryAUROC auroc;
///     auroc.update(model->forward(batch.data).sigmoid(), batch.target);
///     double area = auroc.compute().item<double>();
class BinaryAUROC final : public MetricOf<BinaryAUROC, BinaryCurve, at::Tensor,
                                          BinaryAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryAUROC";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
