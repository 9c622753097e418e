#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/curves/curve_options.h"
#include "tally/metrics/classification/curves/curve_state.h"
#include "tally/metrics/classification/inputs/checks.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/kernels/bin_kernels.h"
#include "tally/metrics/metric_options.h"

namespace tally {

namespace internal::classification {

/// How batches become a CurveState.
class CurveRules {
 public:
  CurveRules(const CurveShape& shape, const Thresholds& thresholds,
             ScoreKind input, std::optional<std::int64_t> ignore_index,
             const MetricOptions& metric_options)
      : shape_(shape),
        grid_(thresholds),
        input_(input),
        ignore_index_(ignore_index),
        nan_policy_(metric_options.nan_policy()),
        validate_args_(metric_options.validate_args()),
        checks_scores_(validate_args_ && thresholds.exact() &&
                       input == ScoreKind::kProbabilities) {}

 protected:
  /// Looks the scores of one batch up in the thresholds.
  class Lookup {
   public:
    Lookup(const ThresholdGrid& grid, std::int64_t scores);
    /// False, and the places mean nothing, if one is not in [0, 1]. There may
    /// be no codes.
    bool places(const float* scores, const std::uint8_t* codes,
                std::int64_t size, std::uint32_t* places) const;
    bool places(const double* scores, const std::uint8_t* codes,
                std::int64_t size, std::uint32_t* places) const;

   private:
    template <class Score, class Bucket>
    bool fill_places(const Score* scores, const std::uint8_t* codes,
                     std::int64_t size, std::uint32_t* places,
                     const Bucket& bucket) const;

    const ThresholdGrid& grid_;
    std::optional<EdgeTable> table_;
  };

  /// The state of a batch of rows, one score for each curve: its histogram, or
  /// places where that is smaller. fill(begin, end, lookup, sink) gives some
  /// rows to a sink (see places.h); from several threads where there is much to
  /// do.
  template <class Fill>
  CurveState count_rows(std::int64_t rows, const Fill& fill) const;
  /// The same for rows with weights, to sinks that take them.
  template <class Fill>
  CurveState weigh_rows(std::int64_t rows, const Fill& fill) const;
  /// With room for `count` places, or a histogram of zeros.
  CurveState binned_state(std::int64_t count) const;
  /// Whether a batch of `count` places is better counted at once.
  bool fills_histogram(std::int64_t count) const;
  /// The bucket of a score that is not in [0, 1].
  std::int64_t bucket_outside(double score, std::int64_t position) const;
  std::int64_t bucket(double score, std::int64_t position) const {
    return score >= 0 && score <= 1 ? grid_.bucket(score)
                                    : bucket_outside(score, position);
  }
  /// Any device: the histogram of probabilities [N, curves], given which of
  /// them are positive and which count (all if undefined), both of that shape.
  /// There may be weights [N].
  CurveState histogram_of(const at::Tensor& probabilities,
                          const at::Tensor& positive, const at::Tensor& kept,
                          const at::Tensor& weights,
                          std::int64_t per_position) const;

  /// Whether what has a NaN counts; throws under kError.
  bool takes_nan(const char* input, std::int64_t position) const;
  bool takes_score(double score, std::int64_t position) const {
    check_score(score, position);
    return nan_policy_ == NanPolicy::kPropagate || score == score ||
           takes_nan("preds", position);
  }
  void check_score(double score, std::int64_t position) const {
    if (checks_scores_ && (score < 0 || score > 1)) {
      refuse_probability(score, position, /*any_allowed=*/true);
    }
  }
  /// Of scores [N, curves] on any device, of which some count (all if
  /// undefined): c10::ValueError for the first that is no probability.
  void check_range(const at::Tensor& scores, const at::Tensor& kept,
                   std::int64_t per_position) const;
  bool takes_weight(double weight, std::int64_t row) const {
    return weight != 0 && (weight == weight || takes_nan("weight", row));
  }

  /// Weights, if there are any, as float64 [N] in memory of its own order.
  /// c10::TypeError or c10::ValueError unless they are real numbers of the
  /// shape of `target`, and with validate_args for the first below 0.
  at::Tensor row_weights(const at::Tensor& weight, const char* target_input,
                         const at::Tensor& target) const;
  /// Any device: `kept` (all if undefined), of the shape of `like`, without the
  /// rows that do not count for their weight.
  at::Tensor keep_weighted(const at::Tensor& kept, const at::Tensor& weights,
                           const at::Tensor& like) const;
  /// The exact state of the rows at these positions, or of all. There may be
  /// weights.
  static CurveState exact_rows(const at::Tensor& preds,
                               const at::Tensor& target,
                               const at::Tensor& weights,
                               const at::Tensor& positions);

  CurveShape shape_;
  ThresholdGrid grid_;
  ScoreKind input_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_args_;
  // Whether an exact curve's have to be probabilities; those of others are
  // looked at when they are put into buckets.
  bool checks_scores_;
};

/// Where every score has a target of its own: binary and multilabel.
class LabelCurve : public CurveRules {
 public:
  using CurveRules::CurveRules;
  CurveState observe(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& weight) const;

 private:
  // Weights are undefined, or float64 [N].
  CurveState observe_flat(const at::Tensor& preds, const at::Tensor& target,
                          const at::Tensor& weights) const;
  CurveState observe_tensors(const at::Tensor& preds, const at::Tensor& target,
                             const at::Tensor& weights) const;
  template <class Score, class Label>
  CurveState observe_plain(const at::Tensor& preds, const at::Tensor& target,
                           const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  CurveState observe_weighted(const at::Tensor& preds, const at::Tensor& target,
                              const at::Tensor& weights, const Score* scores,
                              const Label* labels) const;
  CurveState exact_codes(const at::Tensor& preds, const at::Tensor& codes,
                         const at::Tensor& weights, bool all_count) const;
  template <class Label>
  std::uint8_t code(Label label, std::int64_t position) const;
  template <class Score, class Label>
  std::uint8_t code(Score score, Label label, std::int64_t position) const;
  template <class Score, class Label>
  bool write_plain_codes(const Score* scores, const Label* labels,
                         std::int64_t begin, std::int64_t end,
                         std::uint8_t* codes) const;
  template <class Score, class Label>
  std::int64_t write_codes(const Score* scores, const Label* labels,
                           std::int64_t begin, std::int64_t end,
                           std::uint8_t* codes) const;
  template <class Score, class Label>
  std::int64_t write_all_codes(const Score* scores, const Label* labels,
                               std::int64_t size, std::uint8_t* codes) const;
  bool ignores_no_class() const {
    return !ignore_index_ || (*ignore_index_ != 0 && *ignore_index_ != 1);
  }
  template <class Score, class Label, class Sink>
  void fill(const Score* scores, const Label* labels, std::int64_t begin,
            std::int64_t end, const Lookup& lookup, Sink& sink) const;
  template <class Score, class Sink>
  void weigh(const Score* scores, const std::uint8_t* codes,
             const double* weights, std::int64_t begin, std::int64_t end,
             const Lookup& lookup, Sink& sink) const;
};

/// Where a row of scores has one target: multiclass.
class ClassCurve : public CurveRules {
 public:
  using CurveRules::CurveRules;
  CurveState observe(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& weight) const;

 private:
  // Weights are undefined, or float64 [N].
  CurveState observe_rows(const at::Tensor& rows, const at::Tensor& target,
                          const at::Tensor& weights) const;
  CurveState observe_tensors(const at::Tensor& rows, const at::Tensor& target,
                             const at::Tensor& weights) const;
  template <class Score, class Label>
  CurveState observe_plain(const at::Tensor& rows, const at::Tensor& target,
                           const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  CurveState observe_weighted(const at::Tensor& rows, const at::Tensor& weights,
                              const Score* scores, const Label* labels) const;
  template <class Score, class Label>
  bool counts(const Score* row, Label label, std::int64_t position) const;
  template <class Score, class Label>
  bool counts_checked(const Score* row, Label label,
                      std::int64_t position) const;
  template <class Label>
  bool is_class(Label label, std::int64_t position) const;
  template <class Score>
  bool takes_row(const Score* row, std::int64_t position) const;
  template <class Score, class Label, class Sink>
  void fill(const Score* scores, const Label* labels, std::int64_t begin,
            std::int64_t end, const Lookup& lookup, Sink& sink) const;
  template <class Score, class Sink>
  void weigh(const Score* scores, const std::int64_t* classes,
             const double* weights, std::int64_t begin, std::int64_t end,
             const Lookup& lookup, Sink& sink) const;
};

/// `Rules` made from a metric's options.
template <class Rules>
class CurveAccumulator {
 public:
  using State = CurveState;

  template <class Options>
  CurveAccumulator(const Options& options, const MetricOptions& metric_options)
      : rules_(options.shape(), options.thresholds(), options.input(),
               options.ignore_index(), metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const {
    return rules_.observe(preds, target, weight);
  }

 private:
  Rules rules_;
};

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
/// A sample of weight 0 does not count, but its target has to be one. Weights
/// below 0 are a c10::ValueError; with validate_args off they make results NaN,
/// as infinite ones always do. With a NaN in its weight a sample is as with one
/// in its scores.
class BinaryCurve : public internal::classification::CurveAccumulator<
                        internal::classification::LabelCurve> {
 public:
  static constexpr const char* kName = "BinaryCurve";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  using CurveAccumulator::CurveAccumulator;
};

/// The same with preds and target [N, L, ...] and weights [N, ...], for each of
/// L labels.
class MultilabelCurve : public internal::classification::CurveAccumulator<
                            internal::classification::LabelCurve> {
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
class MulticlassCurve : public internal::classification::CurveAccumulator<
                            internal::classification::ClassCurve> {
 public:
  static constexpr const char* kName = "MulticlassCurve";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using CurveAccumulator::CurveAccumulator;
};

}  // namespace tally
