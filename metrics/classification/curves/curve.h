#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/curves/curve_options.h"
#include "tally/metrics/classification/curves/curve_state.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/metric_options.h"

namespace tally {

namespace internal::classification {

/// A metric's options for converting batches to a CurveState.
struct CurveRules {
  template <class Options>
  CurveRules(const Options& options, const MetricOptions& metric_options)
      : shape(options.shape()),
        grid(options.thresholds()),
        input(options.input()),
        ignore_index(options.ignore_index()),
        nan_policy(metric_options.nan_policy()),
        validate_args(metric_options.validate_args()),
        checks_scores(validate_args && options.thresholds().exact() &&
                      input == ScoreKind::kProbabilities),
        keeps_rows(options.keeps_rows()) {}

  CurveShape shape;
  ThresholdGrid grid;
  ScoreKind input;
  std::optional<std::int64_t> ignore_index;
  NanPolicy nan_policy;
  bool validate_args;
  /// Whether an exact curve's scores must be probabilities; those of others are
  /// checked when they are binned.
  bool checks_scores;
  /// Whether an exact curve's rows never become runs.
  bool keeps_rows;
};

/// For one target per score: binary and multilabel.
CurveState observe_labels(const CurveRules& rules, const at::Tensor& preds,
                          const at::Tensor& target, const at::Tensor& weight);
/// For one target per row of scores: multiclass.
CurveState observe_classes(const CurveRules& rules, const at::Tensor& preds,
                           const at::Tensor& target, const at::Tensor& weight);

/// One of the two, with a metric's options.
template <decltype(observe_labels)* kObserve>
class CurveObserver {
 public:
  using State = CurveState;

  template <class Options>
  CurveObserver(const Options& options, const MetricOptions& metric_options)
      : rules_(options, metric_options) {}

  State identity() const {
    State state;
    state.keeps_rows = rules_.keeps_rows;
    return state;
  }
  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const {
    return kObserve(rules_, preds, target, weight);
  }

 private:
  CurveRules rules_;
};

using LabelCurve = CurveObserver<observe_labels>;
using ClassCurve = CurveObserver<observe_classes>;

}  // namespace internal::classification

/// update(preds, target, weight = {}): scores of a floating-point dtype,
/// targets 0 or 1 of an integer or floating-point dtype or bool, and weights of
/// a real dtype, all of the same shape. Batches with and without weights can be
/// mixed: without weights, all are 1.
///
/// Probabilities outside [0, 1] are a c10::ValueError, unless validate_args is
/// off: exact curves then rank them, and with thresholds they lie beyond the
/// outermost ones. With thresholds, logits are passed through a sigmoid; exact
/// curves rank them as they are, since a sigmoid preserves their order but
/// could create ties, and report the sigmoid of each, which the logit reaches
/// if used as a threshold. Arbitrary scores (ScoreKind::kScores) are ranked and
/// reported as they are. Other targets are a c10::IndexError, those that are
/// not whole numbers a c10::ValueError.
///
/// A NaN among the scores or weights, or an infinite weight, makes results NaN:
/// with several curves, a NaN score affects its curve and averages, a weight
/// all of them. NanPolicy::kIgnore ignores the sample, kError rejects it. A
/// sample of weight 0 is ignored, but its target must be valid. Weights below 0
/// are a c10::ValueError; with validate_args off they make results NaN.
class BinaryCurve : public internal::classification::LabelCurve {
 public:
  static constexpr const char* kName = "BinaryCurve";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  using CurveObserver::CurveObserver;
};

/// The same with preds and target [N, L, ...] and weights [N, ...], for each of
/// L labels.
class MultilabelCurve : public internal::classification::LabelCurve {
 public:
  static constexpr const char* kName = "MultilabelCurve";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelScoreInputs;
  using CurveObserver::CurveObserver;
};

/// The same with preds [N, C, ...] and classes and weights [N, ...], for each
/// of C classes against the rest. Logits are always passed through a softmax,
/// also for exact curves: within a class they are ordered differently from
/// probabilities. On a GPU the device's own softmax is used, and thresholds are
/// reached there, too.
class MulticlassCurve : public internal::classification::ClassCurve {
 public:
  static constexpr const char* kName = "MulticlassCurve";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using CurveObserver::CurveObserver;
};

}  // namespace tally
