#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/calibration_sums.h"
#include "tally/metrics/classification/pointwise/class_probabilities.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/score_kind.h"

namespace tally {

/// How the gaps of the bins are combined.
enum class CalibrationNorm {
  kL1,   ///< their mean, weighted by the samples in each bin
  kL2,   ///< the square root of the weighted mean of their squares
  kMax,  ///< the largest
};

template <>
struct EnumNames<CalibrationNorm> {
  static constexpr const char* kNames[] = {"l1", "l2", "max"};
};

/// Options of BinaryCalibrationError.
struct BinaryCalibrationErrorOptions {
  /// Number of equal-width bins over [0, 1]; at least 1.
  TORCH_ARG(std::int64_t, n_bins) = 15;
  TORCH_ARG(CalibrationNorm, norm) = CalibrationNorm::kL1;
  /// The kind of scores in preds. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be 0 or 1.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  auto& from_logits() { return input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("n_bins", n_bins_, OptionRole::kSize, internal::words::kNBins);
    v("norm", norm_, OptionRole::kValue, internal::words::kNorm);
    v.first<kProbabilityKinds>("input", input_, OptionRole::kState,
                               internal::words::kProbabilityInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
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
  /// Number of equal-width bins over [0, 1]; at least 1.
  TORCH_ARG(std::int64_t, n_bins) = 15;
  TORCH_ARG(CalibrationNorm, norm) = CalibrationNorm::kL1;
  /// The kind of scores in preds. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be a class.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  auto& from_logits() { return input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v("n_bins", n_bins_, OptionRole::kSize, internal::words::kNBins);
    v("norm", norm_, OptionRole::kValue, internal::words::kNorm);
    v.first<kProbabilityKinds>("input", input_, OptionRole::kState,
                               internal::words::kProbabilityInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  void validate(const char* metric) const;
};

/// The bins used by BinaryCalibrationError.
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
  GapSampling::Batch observe_gaps(const at::Tensor& preds,
                                  const at::Tensor& target,
                                  const at::Tensor& weight = {}) const;

 private:
  template <class Sums>
  CalibrationBins sum(const at::Tensor& preds, const at::Tensor& target,
                      const at::Tensor& weight) const;

  std::int64_t n_bins_;
  internal::classification::BinaryRules rules_;
};

/// The bins used by MulticlassCalibrationError.
class MulticlassCalibration {
 public:
  static constexpr const char* kName = "MulticlassCalibration";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using Options = MulticlassCalibrationErrorOptions;
  struct State {
    CalibrationBins sums;
    Note unnormalized{internal::classification::kUnnormalized};

    void fields(Fields& f) {
      sums.fields(f);
      f(unnormalized);
    }
  };

  MulticlassCalibration(const Options& options,
                        const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;
  GapSampling::Batch observe_gaps(const at::Tensor& preds,
                                  const at::Tensor& target,
                                  const at::Tensor& weight = {}) const;

 private:
  template <class Sums>
  State sum(const at::Tensor& preds, const at::Tensor& target,
            const at::Tensor& weight) const;

  std::int64_t n_bins_;
  ScoreKind input_;
  internal::classification::ClassLossRules rules_;
};

/// The gap between the predicted probability of 1 and its observed frequency.
///
///     gap_b = |mean of target - mean of p| over bin b, p in [b, b + 1) /
///     n_bins
/// where the last bin includes 1, and f_b is the fraction of samples in bin b.
/// l1: sum_b f_b gap_b (the expected calibration error), l2: sqrt(sum_b f_b
/// gap_b^2), max: max_b gap_b.
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim float64, in [0, 1].
///
/// State: three sums per bin (kSum), no samples. Without data it is NaN. A NaN
/// in a score or weight makes the result NaN; with kIgnore that position is
/// ignored. A probability outside [0, 1] is a c10::ValueError (without
/// validate_args it falls into the first or last bin), a label other than 0 and
/// 1 a c10::IndexError.
///
/// The value of few rows is above that of all, as chance makes gaps of its own;
/// IntervalMetric corrects for it with norm l2, and refuses l1 and max.
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
  static constexpr const char* kNoInterval = internal::kNoIntervalOfGaps;
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Gap between predicted probabilities and observed frequencies.",
          "[0, 1]",
          "",
          "ece, expected calibration error, mce, calibration",
          R"(\sum_b \frac{n_b}{N} \left| acc_b - conf_b \right|)",
          "Guo et al. 2017"}
          .binary();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
  /// Intervals of norm l2.
  MetricSampling sampling() const override;
};

/// The gap between the probability of the predicted class and the accuracy.
///
///     gap_b = |accuracy - mean confidence| over bin b, confidence in
///     [b, b + 1) / n_bins
/// where the last bin includes 1, and f_b is the fraction of samples in bin b.
/// l1: sum_b f_b gap_b (the expected calibration error), l2: sqrt(sum_b f_b
/// gap_b^2), max: max_b gap_b.
///
/// update(preds, target, weight = {}): probabilities or logits [N, C, ...],
/// floating point, where the largest is the confidence and ties go to the lower
/// class, classes [N, ...] of any real dtype, weights [N, ...] (default: 1).
/// Result: 0-dim float64, in [0, 1].
///
/// State: three sums per bin (kSum), no samples. Without data it is NaN. A NaN
/// among a position's scores or in its weight makes the result NaN; with
/// kIgnore that position is ignored. A probability outside [0, 1] is a
/// c10::ValueError (without validate_args a confidence falls into the first or
/// last bin), an invalid class a c10::IndexError. With validate_args, a row
/// whose sum misses 1 by more than 0.001 (0.01 for bfloat16) gives a warning,
/// `unnormalized`, except on a GPU.
///
/// The value of few rows is above that of all, as chance makes gaps of its own;
/// IntervalMetric corrects for it with norm l2, and refuses l1 and max.
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
  static constexpr const char* kNoInterval = internal::kNoIntervalOfGaps;
  static constexpr MetricSummary kSummary =
      MetricSummary{"Gap between confidence and accuracy.",
                    "[0, 1]",
                    "",
                    "ece, expected calibration error, mce, calibration",
                    R"(\sum_b \frac{n_b}{N} \left| acc_b - conf_b \right|)",
                    "Guo et al. 2017"}
          .multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
  /// Intervals of norm l2.
  MetricSampling sampling() const override;
};

extern template class MetricOf<BinaryCalibrationError, BinaryCalibration,
                               at::Tensor>;
extern template class MetricOf<MulticlassCalibrationError,
                               MulticlassCalibration, at::Tensor>;

}  // namespace tally
