#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/score_loss_options.h"
#include "tally/metrics/metric_of.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of BinaryCalibrationSlope and BinaryCalibrationIntercept.
struct BinaryRecalibrationOptions
    : internal::classification::BinaryLossOptions<BinaryRecalibrationOptions> {
};

/// Keeps the logits of all predictions: the observer of the metrics of logistic
/// recalibration, which share it in a collection.
class BinaryLogits {
 public:
  using Options = BinaryRecalibrationOptions;
  static constexpr const char* kName = "BinaryLogits";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  struct State {
    /// float64 [N, 3]: logit, 0 or 1, and weight, which is not 0.
    Rows rows;
    void fields(Fields& f) { f("rows", rows); }
  };

  BinaryLogits(const Options& options, const MetricOptions& metric_options)
      : rules_{0.5, options.input(), options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()} {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  internal::classification::BinaryRules rules_;
};

/// The slope of logistic recalibration, one of the two measures of weak
/// calibration: 1 is best, below 1 predictions are too extreme, as of a model
/// that overfits, and above 1 not extreme enough.
///
///     logit P(y = 1) = intercept + slope logit(p)
/// with the maximum of the weighted likelihood, by Newton's method.
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Probabilities are clipped to [eps, 1 - eps] with the eps of
/// their dtype. Result: 0-dim float64.
///
/// State: all logits, targets and weights, concatenated; compute() sorts them
/// on the CPU. Positions of weight 0 are skipped. NaN where the likelihood has
/// no maximum: without data, with one class alone, and where a threshold
/// separates the classes; with infinite logits, too. A NaN in a score or weight
/// makes the result NaN; with kIgnore that position is ignored. A probability
/// outside [0, 1] (with validate_args) or a weight below 0 is a
/// c10::ValueError, a label other than 0 and 1 a c10::IndexError.
///
/// Not differentiable. Source: Cox 1958; Van Calster et al. 2016.
///
/// Example:
///     BinaryCalibrationSlope slope;
///     slope.update(preds, target);
///     at::Tensor value = slope.compute();
class BinaryCalibrationSlope final
    : public MetricOf<BinaryCalibrationSlope, BinaryLogits, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryCalibrationSlope";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Slope of a logistic regression of the target on the logit.",
          "(-inf, inf)",
          "",
          "calibration slope, cox slope, weak calibration, recalibration",
          R"(\mathrm{logit}\, P(y = 1) = \alpha + \beta\, \mathrm{logit}(p))",
          "Cox 1958"}
          .binary();
  static constexpr std::optional<bool> kHigherIsBetter = std::nullopt;

  at::Tensor evaluate(const State& state) const;
};

/// Calibration-in-the-large: the intercept of logistic recalibration with a
/// slope of 1. 0 is best; above 0 predictions are too low on average, below 0
/// too high.
///
///     logit P(y = 1) = intercept + logit(p)
/// with the maximum of the weighted likelihood, by Newton's method: the shift
/// of all logits by which the mean probability becomes the ratio of positives.
///
/// update(preds, target, weight = {}): as for BinaryCalibrationSlope, with the
/// same state. Result: 0-dim float64, NaN without data, with one class alone,
/// and with infinite logits. Errors and NaN as there.
///
/// Not differentiable. Source: Cox 1958; Van Calster et al. 2016.
///
/// Example:
///     BinaryCalibrationIntercept intercept;
///     intercept.update(preds, target);
///     at::Tensor value = intercept.compute();
class BinaryCalibrationIntercept final
    : public MetricOf<BinaryCalibrationIntercept, BinaryLogits, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryCalibrationIntercept";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Intercept of a logistic recalibration with slope 1.",
          "(-inf, inf)",
          "",
          "calibration-in-the-large, calibration intercept, mean calibration, "
          "weak calibration",
          R"(\mathrm{logit}\, P(y = 1) = \alpha + \mathrm{logit}(p))",
          "Cox 1958"}
          .binary();
  static constexpr std::optional<bool> kHigherIsBetter = std::nullopt;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryCalibrationSlope, BinaryLogits,
                               at::Tensor>;
extern template class MetricOf<BinaryCalibrationIntercept, BinaryLogits,
                               at::Tensor>;

}  // namespace tally
