#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/score_loss_options.h"
#include "tally/metrics/metric_of.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of BinarySpiegelhalterZ.
struct BinarySpiegelhalterZOptions
    : internal::classification::BinaryLossOptions<BinarySpiegelhalterZOptions> {
};

/// The sums used by BinarySpiegelhalterZ.
class BinaryExcessErrors {
 public:
  using Options = BinarySpiegelhalterZOptions;
  static constexpr const char* kName = "BinaryExcessErrors";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  struct State {
    Number excess;    ///< of w (y - p) (1 - 2 p)
    Number variance;  ///< of w^2 (1 - 2 p)^2 p (1 - p)
    void fields(Fields& f) { f("excess", excess)("variance", variance); }
  };

  BinaryExcessErrors(const Options& options,
                     const MetricOptions& metric_options)
      : rules_{0.5, options.input(), options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()} {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  internal::classification::BinaryRules rules_;
};

/// Spiegelhalter's Z: whether the Brier score is what it would be if the
/// predicted probabilities were true, in standard deviations.
///
///     sum w_i (y_i - p_i) (1 - 2 p_i)
///         / sqrt(sum w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i))
/// For calibrated probabilities of many rows it has a standard normal
/// distribution; above 1.96 or below -1.96 they are not calibrated, at a level
/// of 5 %. Positive: errors are larger than predicted.
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim float64.
///
/// State: both sums (kSum). Without data, and where all probabilities are 0,
/// 0.5 or 1 and none is refuted, it is NaN; infinite where one is. A NaN in a
/// score or weight makes the result NaN; with kIgnore that position is ignored.
/// A probability outside [0, 1] is a c10::ValueError (with validate_args), a
/// label other than 0 and 1 a c10::IndexError.
///
/// Differentiable in preds and weight. Source: Spiegelhalter 1986.
///
/// Example:
///     BinarySpiegelhalterZ z;
///     z.update(preds, target);
///     at::Tensor value = z.compute();
class BinarySpiegelhalterZ final
    : public MetricOf<BinarySpiegelhalterZ, BinaryExcessErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinarySpiegelhalterZ";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Spiegelhalter's z-test of calibration.",
                    "(-inf, inf)",
                    "",
                    "spiegelhalter, calibration test, z-test of calibration",
                    R"(\frac{\sum_n (y_n - p_n)(1 - 2 p_n)})"
                    R"({\sqrt{\sum_n (1 - 2 p_n)^2 p_n (1 - p_n)}})",
                    "Spiegelhalter 1986"}
          .binary();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = std::nullopt;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinarySpiegelhalterZ, BinaryExcessErrors,
                               at::Tensor>;

}  // namespace tally
