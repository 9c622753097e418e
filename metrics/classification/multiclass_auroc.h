#pragma once

#include "tally/metrics/classification/average.h"
#include "tally/metrics/classification/multiclass_curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MulticlassAUROC.
///
/// Example:
///     MulticlassAUROC auroc(MulticlassAUROCOptions(10).thresholds(200));
struct MulticlassAUROCOptions {
  /// The number of classes, at least 2.
  MulticlassAUROCOptions(std::int64_t num_classes = 0)
      : num_classes_(num_classes) {}

  /// Targets are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// kMacro, kWeighted (by each class's number of samples) or kNone.
  /// Default: kMacro.
  TORCH_ARG(Average, average) = Average::kMacro;
  /// Where the ROC curves are evaluated: at every score, at a number of equally
  /// spaced thresholds, or at those of a list. Default: at every score.
  TORCH_ARG(Thresholds, thresholds) = {};
  /// What preds are. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Samples with this target do not count. It need not be a class.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_);
    v("average", average_, OptionRole::kValue);
    v("thresholds", thresholds_.value());
    v("input", input_);
    v("ignore_index", ignore_index_);
  }
  void validate(const char* metric) const;
};

/// The area under the ROC curve of each class against the rest, averaged.
///
///     AUROC_c = (#{s_p > s_n} + #{s_p = s_n} / 2) / (#p * #n)
///
/// over samples p of class c and n of the others, s being their scores for c.
///
/// update(preds, target): scores [N, C, ...], floating point, and classes
/// [N, ...] of an integer dtype. Result: 0-dim, with kNone [C]; in [0, 1].
///
/// State: all scores and targets, concatenated; with thresholds a histogram,
/// summed, whose size does not depend on the data (see BinaryAUROC).
///
/// A class is NaN in kNone unless it has both samples and others, and does not
/// count in averages; they are NaN if no class is left. A NaN in preds makes
/// its class and averages NaN; with kIgnore that sample does not count. A row
/// of logits has no softmax, and counts as NaN, with a NaN or +infinity in it.
/// With thresholds, probabilities outside [0, 1] are a c10::ValueError.
/// Not differentiable.
///
/// Source: Hanley and McNeil 1982; roc_auc_score of scikit-learn, "ovr".
///
/// Example:
///     MulticlassAUROC auroc(10);
///     auroc.update(model->forward(batch.data).softmax(1), batch.target);
///     double area = auroc.compute().item<double>();
class MulticlassAUROC final
    : public MetricOf<MulticlassAUROC, MulticlassCurve, at::Tensor,
                      MulticlassAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassAUROC";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
