#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/ranked_scores.h"
#include "tally/metrics/classification/score_kind.h"
#include "tally/metrics/classification/thresholds.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// What all metrics on the curves of a binary classifier accumulate (ROC,
/// precision-recall, and what is computed from them).
///
/// update(preds, target): scores of a floating-point dtype and targets 0 or 1
/// of an integer dtype or bool, both of the same shape.
///
/// Without thresholds the state is every score and target (kCat); with T of
/// them an int64 histogram [2, T + 2] (kSum): all samples and the positive ones
/// by the number of thresholds that their score reaches (score >= threshold,
/// compared in float64), and NaN at the end. Logits then go through a sigmoid;
/// exact curves take them as they are, since a sigmoid changes no order but
/// would make ties.
///
/// Scores outside [0, 1] are a c10::ValueError with thresholds and
/// probabilities, unless validate_args is off: then they lie beyond the
/// outermost thresholds. Other targets are a c10::IndexError.
class BinaryCurve {
 public:
  static constexpr const char* kName = "BinaryCurve";

  struct State {
    Rows preds;
    Rows target;
    at::Tensor histogram;
    void fields(Fields& f) {
      f("preds", preds)("target", target)("histogram", histogram);
    }
  };

  /// Options have thresholds(), input() and ignore_index().
  template <class Options>
  BinaryCurve(const Options& options, const MetricOptions& metric_options)
      : BinaryCurve(options.thresholds(), options.input(),
                    options.ignore_index(), metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  BinaryCurve(const Thresholds& thresholds, ScoreKind input,
              std::optional<std::int64_t> ignore_index,
              const MetricOptions& metric_options);

  template <class Score, class Label>
  State observe_plain(const at::Tensor& preds, const at::Tensor& target,
                      const Score* scores, const Label* labels) const;
  State observe_tensors(const at::Tensor& preds,
                        const at::Tensor& target) const;
  at::Tensor histogram_of(const at::Tensor& preds, const at::Tensor& target,
                          const at::Tensor& kept) const;
  template <class Score, class Label>
  bool counts(Score score, Label label, std::int64_t position) const;
  template <class Label>
  bool all_count(const Label* labels, std::int64_t count) const;
  std::int64_t bucket_outside(double score, std::int64_t position) const;

  internal::ThresholdGrid grid_;
  ScoreKind input_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_args_;
};

namespace internal {

/// How many samples have each score; empty if there are none or one is NaN.
std::optional<ScoreCounts> score_counts(const BinaryCurve::State& state);

}  // namespace internal
}  // namespace tally
