#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/counts/count_sampling.h"
#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of all metrics over MultilabelCounts. Metrics with equal options
/// share one state in a collection.
template <class Self>
struct MultilabelCountsOptions {
  /// The number of labels, at least 1.
  template <class Count, RequireCount<Count> = 0>
  MultilabelCountsOptions(Count num_labels)
      : num_labels_(static_cast<std::int64_t>(num_labels)) {}
  explicit MultilabelCountsOptions(internal::Unset) : num_labels_(0) {}

  /// The size of dimension 1 of preds and target.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_labels);
  /// Scores above it are predicted as 1; it is rounded to their dtype. In [0,
  /// 1], by default 0.5; with ScoreKind::kScores any number, on their scale,
  /// which has to be given.
  TALLY_INHERITED_ARG(Self, ScoreThreshold, threshold) = {};
  /// The kind of floating-point preds: with logits the threshold still applies
  /// to probabilities; scores may be of any scale. Default: probabilities.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kProbabilities;
  TALLY_INHERITED_ARG(Self, MultidimAverage,
                      multidim_average) = MultidimAverage::kGlobal;
  /// Elements with this target are ignored. It need not be 0 or 1.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  Self& from_logits() { return this->input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("num_labels", num_labels_, OptionRole::kSize,
      internal::words::kNumLabels);
    v("threshold", threshold_, internal::words::kThreshold);
    v("input", input_, internal::words::kProbabilityInput);
    v("multidim_average", multidim_average_, internal::words::kMultidimAverage);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    internal::classification::check_num_labels(metric, num_labels_);
    internal::classification::check_threshold(metric, threshold_, input_);
  }
  bool averages_samples() const { return false; }
};

/// The same with an average; kSamples requires MultidimAverage::kGlobal, where
/// each position of a sample counts as a sample.
template <class Self>
struct MultilabelAverageOptions : MultilabelCountsOptions<Self> {
  using MultilabelCountsOptions<Self>::MultilabelCountsOptions;

  /// kMacro and kWeighted average over the labels with counted positions: a
  /// label whose positions are all ignored is excluded.
  TALLY_INHERITED_ARG(Self, Average, average) = Average::kMacro;

 public:
  void visit(OptionVisitor& v) {
    MultilabelCountsOptions<Self>::visit(v);
    v("average", average_,
      averages_samples() ? OptionRole::kState : OptionRole::kValue,
      internal::words::kAverage);
  }
  Dimensions dimensions() const {
    if (average_ != Average::kNone) return {Dimension::kSample};
    return {Dimension::kSample, Dimension::kClass};
  }
  void validate(const char* metric) const {
    MultilabelCountsOptions<Self>::validate(metric);
    if (averages_samples()) {
      internal::classification::check_global(metric, this->multidim_average());
    }
  }
  bool averages_samples() const { return average_ == Average::kSamples; }
};

/// Options of MultilabelStatScores, MultilabelAccuracy and
/// MultilabelHammingDistance.
///
/// Example:
///     MultilabelAccuracy accuracy(
///         MultilabelAccuracyOptions(5).average(Average::kMicro));
struct MultilabelStatScoresOptions
    : MultilabelAverageOptions<MultilabelStatScoresOptions> {
  using MultilabelAverageOptions::MultilabelAverageOptions;
};

/// Options of metrics that may divide by zero: MultilabelPrecision,
/// MultilabelRecall, MultilabelF1Score, MultilabelSpecificity,
/// MultilabelNegativePredictiveValue and MultilabelJaccardIndex.
///
/// Example:
///     MultilabelF1Score f1(
///         MultilabelF1ScoreOptions(5).average(Average::kSamples));
struct MultilabelRateOptions : MultilabelAverageOptions<MultilabelRateOptions> {
  using MultilabelAverageOptions::MultilabelAverageOptions;

  /// The value of a label if the metric divides by zero: 0, 1, or NaN, which
  /// also excludes the label from averages.
  TALLY_INHERITED_ARG(MultilabelRateOptions, double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    MultilabelAverageOptions::visit(v);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const {
    MultilabelAverageOptions::validate(metric);
    internal::classification::check_zero_division(metric, zero_division_);
  }
};

namespace internal::classification {

MetricSampling label_sampling(const CountUse& use, std::int64_t num_labels,
                              Average average);

}  // namespace internal::classification

/// Counts, for each label, how often it was predicted, was set in the target,
/// and was both.
///
/// update(preds, target, weight = {}): target [N, L, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, whose kind is given by `input`; weights [N, ...] (default: 1).
///
/// Unless stated otherwise for a metric, the result is NaN without counted
/// positions. NaN in preds or weight: the result (of its sample and label) is
/// NaN, kIgnore ignores the element. Ignored elements may have any value.
///
/// Throws c10::IndexError for labels other than 0 and 1 (on a GPU only with
/// validate_args; otherwise they are ignored), c10::ValueError for
/// probabilities outside [0, 1] and weights with kSamplewise, c10::TypeError
/// and c10::ValueError for other inputs.
class MultilabelCounts {
 public:
  static constexpr const char* kName = "MultilabelCounts";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelInputs;
  using Options = MultilabelStatScoresOptions;

  /// A row of counts is [kElementCounts, num_labels].
  struct State {
    at::Tensor counts;      // int64, a row
    at::Tensor sums;        // float64, a row: of samples with weights
    Rows samples;           // int64, one row per sample: kSamplewise, kSamples
    Rows weighted_samples;  // float64, the same with its weight: kSamples

    void fields(Fields& f) {
      f("counts", counts)("sums", sums)("samples", samples);
      f("weighted_samples", weighted_samples);
    }
  };

  template <class AnyOptions>
  MultilabelCounts(const AnyOptions& options,
                   const MetricOptions& metric_options)
      : num_labels_(options.num_labels()),
        rules_{options.threshold(),
               options.input(),
               options.ignore_index(),
               metric_options.nan_policy(),
               metric_options.validate_args(),
               /*takes_scores=*/true},
        samplewise_(options.multidim_average() == MultidimAverage::kSamplewise),
        averages_samples_(options.averages_samples()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

  template <class M>
  static MetricSampling sampling(const M& metric) {
    const auto& options = metric.options();
    if (options.multidim_average() != MultidimAverage::kGlobal ||
        options.averages_samples()) {
      return {};
    }
    return internal::classification::label_sampling(
        internal::classification::use_of(metric), options.num_labels(),
        internal::classification::average_of(metric));
  }

 private:
  std::int64_t num_labels_;
  internal::classification::BinaryRules rules_;
  bool samplewise_;
  bool averages_samples_;
};

namespace internal::classification {

/// The rows of the state for averages other than kSamples.
template <class Options>
CountRows rows_of(const MultilabelCounts::State& state,
                  const Options& options) {
  if (options.multidim_average() == MultidimAverage::kSamplewise) {
    return {CountRows::Layout::kElements,
            options.num_labels(),
            true,
            state.samples.tensor(),
            {}};
  }
  return {CountRows::Layout::kElements, options.num_labels(), false,
          state.counts, state.sums};
}

/// For kSamples, each sample's counts over its labels, and its weight
/// (undefined: all 1).
struct LabelledSamples {
  CountRows rows;
  at::Tensor weights;
};
LabelledSamples samples_of(const MultilabelCounts::State& state);

/// The averages of the labels' values requested by the options, as float64 of
/// shape [] or [num_labels] (kGlobal), [N] or [N, num_labels] (kSamplewise).
template <class Options>
at::Tensor average_labels(const MultilabelCounts::State& state,
                          const Options& options, ClassValue value) {
  if (options.averages_samples()) {
    const LabelledSamples samples = samples_of(state);
    return samples.rows.mean_over_rows(value, samples.weights);
  }
  return rows_of(state, options).averages(options.average(), value);
}

template <class Options>
at::Tensor rate_in(const MultilabelCounts::State& state, const Options& options,
                   const CountRate& rate) {
  return average_labels(state, options, share_by(options, rate));
}

}  // namespace internal::classification
}  // namespace tally
