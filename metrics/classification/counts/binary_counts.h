#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/counts/count_sampling.h"
#include "tally/metrics/classification/counts/element_counts.h"
#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of all metrics over BinaryCounts. Metrics with equal options share
/// one state in a collection.
template <class Self>
struct BinaryCountsOptions {
  /// Scores above it are predicted as 1; it is rounded to their dtype. In [0,
  /// 1], by default 0.5; with ScoreKind::kScores any number, on their scale,
  /// which has to be given.
  TALLY_INHERITED_ARG(Self, ScoreThreshold, threshold) = {};
  /// The kind of floating-point preds: with logits the threshold still applies
  /// to probabilities; scores may be of any scale. Default: probabilities.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kProbabilities;
  TALLY_INHERITED_ARG(Self, MultidimAverage,
                      multidim_average) = MultidimAverage::kGlobal;
  /// Positions with this target are ignored. It need not be 0 or 1.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  Self& from_logits() { return this->input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("threshold", threshold_, internal::words::kThreshold);
    v("input", input_, internal::words::kProbabilityInput);
    v("multidim_average", multidim_average_, internal::words::kMultidimAverage);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    internal::classification::check_threshold(metric, threshold_, input_);
  }
};

/// Options of BinaryStatScores, BinaryAccuracy, BinaryHammingDistance,
/// BinaryMatthewsCorrCoef and BinaryCohenKappa.
///
/// Example:
///     BinaryAccuracy accuracy(BinaryAccuracyOptions().threshold(0.9));
struct BinaryStatScoresOptions : BinaryCountsOptions<BinaryStatScoresOptions> {
};

/// Options of metrics that may divide by zero: BinaryPrecision, BinaryRecall,
/// BinaryF1Score, BinarySpecificity, BinaryNegativePredictiveValue and
/// BinaryJaccardIndex.
///
/// Example:
///     BinaryPrecision precision(BinaryPrecisionOptions().zero_division(1));
struct BinaryRateOptions : BinaryCountsOptions<BinaryRateOptions> {
  /// The value if the metric divides by zero: 0, 1, or NaN.
  TALLY_INHERITED_ARG(BinaryRateOptions, double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    BinaryCountsOptions::visit(v);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const {
    BinaryCountsOptions::validate(metric);
    internal::classification::check_zero_division(metric, zero_division_);
  }
};

class BinaryCounts;

namespace internal::classification {

/// What a metric says of its rows, given the observer of single rows.
MetricSampling sampling_of(const CountUse& use, const BinaryCounts& samples);

}  // namespace internal::classification

/// Counts how often 1 was predicted, was the target, and was both.
///
/// update(preds, target, weight = {}): target [N, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, whose kind is given by `input`; weights [N, ...] (default: 1).
///
/// Unless stated otherwise for a metric, the result is NaN without counted
/// positions. NaN in preds or weight: the result (of its sample) is NaN,
/// kIgnore ignores the position. Ignored positions may have any value.
///
/// Throws c10::IndexError for labels other than 0 and 1 (on a GPU only with
/// validate_args; otherwise they are ignored), c10::ValueError for
/// probabilities outside [0, 1] and weights with kSamplewise, c10::TypeError
/// and c10::ValueError for other inputs.
class BinaryCounts {
 public:
  static constexpr const char* kName = "BinaryCounts";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryInputs;
  using Options = BinaryStatScoresOptions;

  struct State {
    std::int64_t counts[internal::classification::kElementCounts] = {};
    at::Tensor device_counts;  // int64 [kElementCounts]: of batches elsewhere
    at::Tensor sums;           // float64 [kElementCounts]: of weights
    Rows samples;  // kSamplewise: int64 [kElementCounts, 1] for each

    void fields(Fields& f) {
      f("true_positives", counts[internal::classification::kTruePositives]);
      f("predicted", counts[internal::classification::kPredicted]);
      f("target", counts[internal::classification::kTarget]);
      f("total", counts[internal::classification::kTotal]);
      f("nans", counts[internal::classification::kNans]);
      f("device_counts", device_counts)("sums", sums)("samples", samples);
    }
  };

  template <class AnyOptions>
  BinaryCounts(const AnyOptions& options, const MetricOptions& metric_options)
      : rules_{options.threshold(),
               options.input(),
               options.ignore_index(),
               metric_options.nan_policy(),
               metric_options.validate_args(),
               /*takes_scores=*/true},
        samplewise_(options.multidim_average() ==
                    MultidimAverage::kSamplewise) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

  template <class M>
  static MetricSampling sampling(const M& metric) {
    auto options = metric.options();
    if (options.multidim_average() != MultidimAverage::kGlobal) return {};
    options.multidim_average(MultidimAverage::kSamplewise);
    return internal::classification::sampling_of(
        internal::classification::use_of(metric),
        BinaryCounts(options, metric.metric_options()));
  }

 private:
  internal::classification::BinaryRules rules_;
  bool samplewise_;
};

namespace internal::classification {

/// Throws c10::ValueError for weights with samplewise values.
[[noreturn]] void refuse_weight(const char* option);

/// The rows of the state.
CountRows rows_of(const BinaryCounts::State& state,
                  MultidimAverage multidim_average);

template <class Options>
at::Tensor rate_in(const BinaryCounts::State& state, const Options& options,
                   const CountRate& rate) {
  return rows_of(state, options.multidim_average())
      .averages(Average::kMicro, share_by(options, rate));
}

}  // namespace internal::classification
}  // namespace tally
