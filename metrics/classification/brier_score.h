#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/score_loss_options.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of BinaryBrierScore.
struct BinaryBrierScoreOptions
    : internal::classification::BinaryLossOptions<BinaryBrierScoreOptions> {};

/// Options of MulticlassBrierScore.
struct MulticlassBrierScoreOptions
    : internal::classification::MulticlassLossOptions<
          MulticlassBrierScoreOptions> {
  using MulticlassLossOptions::MulticlassLossOptions;

  /// Halve the score: for 2 classes this equals BinaryBrierScore.
  TALLY_INHERITED_ARG(MulticlassBrierScoreOptions, bool, scale_by_half) = false;

 public:
  void visit(OptionVisitor& v) {
    MulticlassLossOptions::visit(v);
    v("scale_by_half", scale_by_half_, OptionRole::kValue,
      "Whether to halve it, which gives the binary score for 2 classes.");
  }
};

/// The sums used by BinaryBrierScore.
class BinarySquaredErrors
    : public internal::classification::BinaryLosses<BinaryBrierScoreOptions> {
 public:
  using BinaryLosses::BinaryLosses;
  static constexpr const char* kName = "BinarySquaredErrors";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;
};

/// The sums used by MulticlassBrierScore.
class MulticlassSquaredErrors
    : public internal::classification::MulticlassLosses<
          MulticlassBrierScoreOptions> {
 public:
  using MulticlassLosses::MulticlassLosses;
  static constexpr const char* kName = "MulticlassSquaredErrors";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;
};

/// The mean squared error of predicted probabilities.
///
///     sum w_i (p_i - target_i)^2 / sum w_i
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim float64, in [0, 1].
///
/// State: the sums of w_i times the squares and of w_i (kSum). Without data it
/// is NaN. A NaN in a score or weight makes the result NaN; with kIgnore that
/// position is ignored. A probability outside [0, 1] is a c10::ValueError (with
/// validate_args), a label other than 0 and 1 a c10::IndexError.
///
/// Differentiable in preds and weight. Source: brier_score_loss of
/// scikit-learn.
///
/// Example:
///     BinaryBrierScore score;
///     score.update(preds, target);
///     at::Tensor value = score.compute();
class BinaryBrierScore final
    : public MetricOf<BinaryBrierScore, BinarySquaredErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryBrierScore";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Mean squared error of predicted probabilities.",
                    "[0, 1]",
                    "",
                    "brier, squared error of probabilities",
                    R"(\frac{1}{N} \sum_n (p_n - y_n)^2)",
                    "Brier 1950"}
          .binary();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The mean squared distance of probabilities from the targets' classes.
///
///     sum_i w_i sum_c (p_ic - [target_i = c])^2 / sum w_i
///
/// update(preds, target, weight = {}): probabilities or logits [N, C, ...],
/// floating point, classes [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim float64, in [0, 2]; in [0, 1] scaled by half.
///
/// State: the sums of w_i times the squares and of w_i (kSum). Without data it
/// is NaN. A NaN among a position's scores or in its weight makes the result
/// NaN; with kIgnore that position is ignored. With validate_args, a
/// probability outside [0, 1] is a c10::ValueError; for sums of a row see
/// MulticlassLogLoss. An invalid class is a c10::IndexError.
///
/// Differentiable in preds and weight. Source: brier_score_loss of
/// scikit-learn.
///
/// Example:
///     MulticlassBrierScore score(10);
///     score.update(preds, target);
///     at::Tensor value = score.compute();
class MulticlassBrierScore final
    : public MetricOf<MulticlassBrierScore, MulticlassSquaredErrors,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassBrierScore";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Mean squared error of predicted probabilities.",
                    "[0, 2]",
                    "",
                    "brier, squared error of probabilities",
                    R"(\frac{1}{N} \sum_n \sum_c (p_{nc} - [y_n = c])^2)",
                    "Brier 1950"}
          .multiclass();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryBrierScore, BinarySquaredErrors,
                               at::Tensor>;
extern template class MetricOf<MulticlassBrierScore, MulticlassSquaredErrors,
                               at::Tensor>;

}  // namespace tally
