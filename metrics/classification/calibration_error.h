#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/options/score_kind.h"
#include "tally/metrics/classification/pointwise/calibration_bins.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// How the gaps of the bins become one value.
enum class CalibrationNorm {
  kL1,   ///< their mean, weighted by the samples in each bin
  kL2,   ///< the root of the mean of their squares
  kMax,  ///< the largest
};

template <>
struct EnumNames<CalibrationNorm> {
  static constexpr const char* kNames[] = {"l1", "l2", "max"};
};

/// Options of BinaryCalibrationError.
struct BinaryCalibrationErrorOptions {
  /// How many bins [0, 1] is cut into, all of one width; at least 1.
  /// Default: 15.
  TORCH_ARG(std::int64_t, n_bins) = 15;
  /// Default: kL1.
  TORCH_ARG(CalibrationNorm, norm) = CalibrationNorm::kL1;
  /// What preds are. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target do not count. It need not be 0 or 1.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("n_bins", n_bins_, OptionRole::kSize);
    v("norm", norm_, OptionRole::kValue);
    v("input", input_);
    v("ignore_index", ignore_index_);
  }
  void validate(const char* metric) const;
};

/// Options of MulticlassCalibrationError.
///
/// Example:
///     MulticlassCalibrationError error(
///         MulticlassCalibrationErrorOptions(10).input(ScoreKind::kLogits));
struct MulticlassCalibrationErrorOptions {
  /// The number of classes, at least 2.
  template <class Count, RequireCount<Count> = 0>
  MulticlassCalibrationErrorOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassCalibrationErrorOptions(internal::Unset)
      : num_classes_(0) {}

  /// Targets are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// How many bins [0, 1] is cut into, all of one width; at least 1.
  /// Default: 15.
  TORCH_ARG(std::int64_t, n_bins) = 15;
  /// Default: kL1.
  TORCH_ARG(CalibrationNorm, norm) = CalibrationNorm::kL1;
  /// What preds are. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target do not count. It need not be a class.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize);
    v("n_bins", n_bins_, OptionRole::kSize);
    v("norm", norm_, OptionRole::kValue);
    v("input", input_);
    v("ignore_index", ignore_index_);
  }
  void validate(const char* metric) const;
};

/// The bins under BinaryCalibrationError.
class BinaryCalibration {
 public:
  static constexpr const char* kName = "BinaryCalibration";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  using Options = BinaryCalibrationErrorOptions;
  using State = CalibrationBins;

  BinaryCalibration(const Options& options,
                    const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t n_bins_;
  internal::classification::BinaryRules rules_;
};

/// The bins under MulticlassCalibrationError.
class MulticlassCalibration {
 public:
  static constexpr const char* kName = "MulticlassCalibration";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using Options = MulticlassCalibrationErrorOptions;
  using State = CalibrationBins;

  MulticlassCalibration(const Options& options,
                        const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t n_bins_;
  ScoreKind input_;
  internal::classification::ClassLossRules rules_;
};

/// How far probabilities of 1 are from how often it is the target.
///
///     gap_b = |mean of target - mean of p| over bin b, p in [b, b + 1) /
///     n_bins
/// where the last bin holds 1 too. l1: sum_b share_b gap_b (the expected
/// calibration error), l2: sqrt(sum_b share_b gap_b^2), max: max_b gap_b.
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim float64, in [0, 1].
///
/// State: three sums for each bin (kSum), not samples. No data gives NaN. A NaN
/// in a score or weight makes the result NaN; with kIgnore that position is
/// ignored. A probability outside [0, 1] is a c10::ValueError (without
/// validate_args it is in the first or last bin), a label other than 0 and 1 a
/// c10::IndexError.
///
/// Not differentiable. Source: Naeini, Cooper and Hauskrecht, 2015.
///
/// Example:
///     BinaryCalibrationError error;
///     error.update(preds, target);
///     at::Tensor value = error.compute();
class BinaryCalibrationError final
    : public MetricOf<BinaryCalibrationError, BinaryCalibration, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryCalibrationError";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// How far the probability of the predicted class is from how often it is the
/// target.
///
///     gap_b = |accuracy - mean confidence| over bin b, confidence in
///     [b, b + 1) / n_bins
/// where the last bin holds 1 too. l1: sum_b share_b gap_b (the expected
/// calibration error), l2: sqrt(sum_b share_b gap_b^2), max: max_b gap_b.
///
/// update(preds, target, weight = {}): probabilities or logits [N, C, ...],
/// floating point, of which the largest is the confidence and the lower class
/// wins ties, classes [N, ...] of any real dtype, weights [N, ...] (default:
/// 1). Result: 0-dim float64, in [0, 1].
///
/// State: three sums for each bin (kSum), not samples. No data gives NaN. A NaN
/// among a position's scores or in its weight makes the result NaN; with
/// kIgnore that position is ignored. A confidence outside [0, 1] is a
/// c10::ValueError (without validate_args it is in the first or last bin), a
/// target that is no class a c10::IndexError.
///
/// Not differentiable. Source: Guo, Pleiss, Sun and Weinberger, 2017.
///
/// Example:
///     MulticlassCalibrationError error(10);
///     error.update(preds, target);
///     at::Tensor value = error.compute();
class MulticlassCalibrationError final
    : public MetricOf<MulticlassCalibrationError, MulticlassCalibration,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassCalibrationError";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
