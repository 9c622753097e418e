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

/// How batches become a CurveState: what a metric's options say of it.
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
                      input == ScoreKind::kProbabilities) {}

  CurveShape shape;
  ThresholdGrid grid;
  ScoreKind input;
  std::optional<std::int64_t> ignore_index;
  NanPolicy nan_policy;
  bool validate_args;
  /// Whether an exact curve's scores have to be probabilities; those of others
  /// are looked at when they are put into buckets.
  bool checks_scores;
};

/// Where every score has a target of its own: binary and multilabel.
CurveState observe_labels(const CurveRules& rules, const at::Tensor& preds,
                          const at::Tensor& target, const at::Tensor& weight);
/// Where a row of scores has one target: multiclass.
CurveState observe_classes(const CurveRules& rules, const at::Tensor& preds,
                           const at::Tensor& target, const at::Tensor& weight);

/// One of the two, with a metric's options.
template <decltype(observe_labels)* kObserve>
class CurveAccumulator {
 public:
  using State = CurveState;

  template <class Options>
  CurveAccumulator(const Options& options, const MetricOptions& metric_options)
      : rules_(options, metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const {
    return kObserve(rules_, preds, target, weight);
  }

 private:
  CurveRules rules_;
};

using LabelCurve = CurveAccumulator<observe_labels>;
using ClassCurve = CurveAccumulator<observe_classes>;

}  // namespace internal::classification

/// update(preds, target, weight = {}): scores of a floating-point dtype,
/// targets 0 or 1 of an integer or floating-point dtype or bool, and weights of
/// a real dtype, all of the same shape. Batches with and without weights mix:
/// without, all are 1.
///
/// Probabilities outside [0, 1] are a c10::ValueError, unless validate_args is
/// off: exact curves then rank them, and with thresholds they lie beyond the
/// outermost ones. With thresholds, logits go through a sigmoid; exact curves
/// rank them as they are, since a sigmoid changes no order but would make ties,
/// and report the sigmoid of each, which it reaches if it is given back as a
/// threshold. Scores of any kind (ScoreKind::kScores) are ranked and reported
/// as they are. Other targets are a c10::IndexError, those that are not whole
/// numbers a c10::ValueError.
///
/// A NaN among the scores or weights, or an infinite weight, makes results NaN:
/// with several curves a NaN score those of its curve and averages, a weight
/// all. NanPolicy::kIgnore ignores the sample, kError refuses it. A sample of
/// weight 0 is ignored, but its target has to be valid. Weights below 0 are a
/// c10::ValueError; with validate_args off they make results NaN.
class BinaryCurve : public internal::classification::LabelCurve {
 public:
  static constexpr const char* kName = "BinaryCurve";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  using CurveAccumulator::CurveAccumulator;
};

/// The same with preds and target [N, L, ...] and weights [N, ...], for each of
/// L labels.
class MultilabelCurve : public internal::classification::LabelCurve {
 public:
  static constexpr const char* kName = "MultilabelCurve";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelScoreInputs;
  using CurveAccumulator::CurveAccumulator;
};

/// The same with preds [N, C, ...] and classes and weights [N, ...], for each
/// of C classes against the rest. Logits go through a softmax, exact curves or
/// not: within a class their order is another than that of probabilities. On a
/// GPU that is the device's own, and thresholds are reached there.
class MulticlassCurve : public internal::classification::ClassCurve {
 public:
  static constexpr const char* kName = "MulticlassCurve";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using CurveAccumulator::CurveAccumulator;
};

}  // namespace tally
