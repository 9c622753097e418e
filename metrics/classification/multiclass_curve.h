#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "tally/metrics/classification/ranked_scores.h"
#include "tally/metrics/classification/score_kind.h"
#include "tally/metrics/classification/thresholds.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// What all metrics on the curves of a multiclass classifier accumulate, each
/// class against the rest.
///
/// update(preds, target): scores [N, C, ...] of a floating-point dtype and
/// classes [N, ...] of an integer dtype.
///
/// Without thresholds the state is every row of scores [C] and every target
/// (kCat); with T of them an int64 histogram [C, 2, T + 2] (kSum): for each
/// class all samples and those of that class, by the number of thresholds that
/// the score reaches (score >= threshold, compared in float64), and NaN at the
/// end. Logits go through a softmax, whose order within a class is another.
///
/// Scores outside [0, 1] are a c10::ValueError with thresholds and
/// probabilities, unless validate_args is off: then they lie beyond the
/// outermost thresholds. Targets that are no classes are a c10::IndexError.
class MulticlassCurve {
 public:
  static constexpr const char* kName = "MulticlassCurve";

  struct State {
    Rows preds;
    Rows target;
    at::Tensor histogram;
    void fields(Fields& f) {
      f("preds", preds)("target", target)("histogram", histogram);
    }
  };

  /// Options have num_classes(), thresholds(), input() and ignore_index().
  template <class Options>
  MulticlassCurve(const Options& options, const MetricOptions& metric_options)
      : MulticlassCurve(options.num_classes(), options.thresholds(),
                        options.input(), options.ignore_index(),
                        metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  MulticlassCurve(std::int64_t num_classes, const Thresholds& thresholds,
                  ScoreKind input, std::optional<std::int64_t> ignore_index,
                  const MetricOptions& metric_options);

  State observe_rows(const at::Tensor& rows, const at::Tensor& target) const;
  template <class Score, class Label>
  State observe_plain(const at::Tensor& rows, const at::Tensor& target,
                      const Score* scores, const Label* labels) const;
  State observe_tensors(const at::Tensor& rows, const at::Tensor& target) const;
  at::Tensor histogram_of(const at::Tensor& rows, const at::Tensor& target,
                          const at::Tensor& kept) const;
  template <class Score, class Label>
  bool counts(const Score* row, Label label, std::int64_t position) const;
  std::int64_t bucket_outside(double score, std::int64_t position) const;

  std::int64_t num_classes_;
  internal::ThresholdGrid grid_;
  ScoreKind input_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_args_;
};

namespace internal {

using ClassVisit =
    std::function<void(std::int64_t, const std::optional<ScoreCounts>&)>;

/// Calls visit(c, counts) for every class, from several threads: how many
/// samples, of the class and of the others, have each score. No counts if a
/// score is NaN. Returns false, without a call, if there are no samples.
bool visit_class_scores(const MulticlassCurve::State& state,
                        std::int64_t num_classes, ScoreKind input,
                        const ClassVisit& visit);

}  // namespace internal
}  // namespace tally
