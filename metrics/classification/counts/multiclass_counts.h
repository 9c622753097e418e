#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/counts/count_sampling.h"
#include "tally/metrics/classification/counts/multiclass_confusion.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/inputs/multiclass_inputs.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of all metrics over MulticlassCounts. Metrics with equal options
/// share one state in a collection.
template <class Self>
struct MulticlassCountsOptions {
  /// The number of classes, at least 2.
  template <class Count, RequireCount<Count> = 0>
  MulticlassCountsOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassCountsOptions(internal::Unset) : num_classes_(0) {}

  /// Labels are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_classes);
  /// A sample's prediction is its target if that is among the top_k largest
  /// scores, otherwise its best class.
  TALLY_INHERITED_ARG(Self, std::int64_t, top_k) = 1;
  TALLY_INHERITED_ARG(Self, MultidimAverage,
                      multidim_average) = MultidimAverage::kGlobal;
  /// Positions with this target are ignored. It need not be a class.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v("top_k", top_k_, "Number of highest scores considered as predicted.");
    v("multidim_average", multidim_average_, internal::words::kMultidimAverage);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    internal::classification::check_num_classes(metric, num_classes_, top_k_);
  }
  internal::classification::ClassDistance distance() const {
    return internal::classification::ClassDistance::kNone;
  }
};

/// The same with an average.
template <class Self>
struct MulticlassAverageOptions : MulticlassCountsOptions<Self> {
  using MulticlassCountsOptions<Self>::MulticlassCountsOptions;

  /// kMacro and kWeighted average over the classes that occur as a target or
  /// prediction, except an ignored class, which cannot be correct. In kMicro,
  /// predictions of that class are incorrect.
  TALLY_INHERITED_ARG(Self, Average, average) = Average::kMacro;

 public:
  void visit(OptionVisitor& v) {
    MulticlassCountsOptions<Self>::visit(v);
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
  }
  Dimensions dimensions() const {
    if (average_ != Average::kNone) return {Dimension::kSample};
    return {Dimension::kSample, Dimension::kClass};
  }
};

/// Options of MulticlassStatScores.
struct MulticlassStatScoresOptions
    : MulticlassAverageOptions<MulticlassStatScoresOptions> {
  using MulticlassAverageOptions::MulticlassAverageOptions;
};

/// Options of MulticlassAccuracy, MulticlassPrecision, MulticlassRecall,
/// MulticlassF1Score, MulticlassSpecificity, MulticlassJaccardIndex,
/// MulticlassNegativePredictiveValue and MulticlassHammingDistance.
///
/// Example:
///     MulticlassF1Score f1(
///         MulticlassF1ScoreOptions(10).average(Average::kWeighted));
struct MulticlassRateOptions : MulticlassAverageOptions<MulticlassRateOptions> {
  using MulticlassAverageOptions::MulticlassAverageOptions;

  /// The value of a class if the metric divides by zero: 0, 1, or NaN, which
  /// also excludes the class from averages.
  TALLY_INHERITED_ARG(MulticlassRateOptions, double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    MulticlassAverageOptions::visit(v);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const {
    MulticlassAverageOptions::validate(metric);
    internal::classification::check_zero_division(metric, zero_division_);
  }
};

namespace internal::classification {

/// The options of a metric over MulticlassCounts that decide what its rows are.
struct ClassSampling {
  CountUse use;
  std::int64_t num_classes = 0;
  Average average = Average::kMacro;
  bool counts_once = true;  ///< top_k is 1
  ClassDistance distance = ClassDistance::kNone;
  /// Of the pairs from which the counts follow.
  std::optional<ConfusionStateOptions> pairs;
};
MetricSampling sampling_of(const ClassSampling& classes,
                           const MetricOptions& metric_options);

}  // namespace internal::classification

/// Counts, for each class, how often it was predicted, was the target, and was
/// both: together with the total, this determines tp, fp, fn and tn.
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, where ties go to the
/// lower class; weights [N, ...] (default: 1).
///
/// Unless stated otherwise for a metric, the result is NaN without counted
/// positions. NaN in preds or weight: the result (of its sample) is NaN,
/// kIgnore ignores the position. Ignored positions may have any value.
///
/// Throws c10::IndexError for invalid class labels (on a GPU only with
/// validate_args; otherwise they are ignored), c10::ValueError for weights with
/// kSamplewise, c10::TypeError and c10::ValueError for other inputs.
class MulticlassCounts {
 public:
  static constexpr const char* kName = "MulticlassCounts";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassInputs;
  using Options = MulticlassRateOptions;

  /// A row of counts is [3 * num_classes + 2]: true positives by class,
  /// predictions by class, targets by class, positions with a NaN, and the
  /// distances between predicted and target classes (0 unless they are used).
  struct State {
    at::Tensor counts;  // int64, a row; kGlobal
    at::Tensor sums;    // float64, a row: of samples with weights
    Rows samples;       // int64, one row per sample; kSamplewise

    void fields(Fields& f) {
      f("counts", counts)("sums", sums)("samples", samples);
    }
  };

  template <class AnyOptions>
  MulticlassCounts(const AnyOptions& options,
                   const MetricOptions& metric_options)
      : rules_{options.num_classes(), options.top_k(), options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()},
        distance_(options.distance()),
        samplewise_(options.multidim_average() ==
                    MultidimAverage::kSamplewise) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

  /// A confusion matrix contains these counts, unless they are samplewise or
  /// for the top k.
  using Source = MulticlassConfusion;
  template <class AnyOptions>
  static std::optional<ConfusionStateOptions> source_options(
      const AnyOptions& options) {
    if (options.top_k() > 1 ||
        options.multidim_average() != MultidimAverage::kGlobal ||
        options.num_classes() > internal::classification::kMostMatrixClasses) {
      return std::nullopt;
    }
    return ConfusionStateOptions(options.num_classes())
        .ignore_index(options.ignore_index());
  }
  State derive(const MulticlassConfusion::State& pairs) const;

  template <class M>
  static MetricSampling sampling(const M& metric) {
    const auto& options = metric.options();
    if (options.multidim_average() != MultidimAverage::kGlobal) return {};
    return internal::classification::sampling_of(
        {internal::classification::use_of(metric), options.num_classes(),
         internal::classification::average_of(metric), options.top_k() == 1,
         options.distance(), source_options(options)},
        metric.metric_options());
  }

 private:
  internal::classification::MulticlassRules rules_;
  internal::classification::ClassDistance distance_;
  bool samplewise_;
};

namespace internal::classification {

/// The rows of the state.
template <class Options>
CountRows rows_of(const MulticlassCounts::State& state,
                  const Options& options) {
  if (options.multidim_average() == MultidimAverage::kSamplewise) {
    return {CountRows::Layout::kClasses,
            options.num_classes(),
            true,
            state.samples.tensor(),
            {}};
  }
  return {CountRows::Layout::kClasses, options.num_classes(), false,
          state.counts, state.sums};
}

/// The averages of the classes' values requested by the options, as float64 of
/// shape [] or [num_classes] (kGlobal), [N] or [N, num_classes] (kSamplewise).
/// NaN if nothing or a NaN was counted. An ignored class is excluded from
/// means.
template <class Options>
at::Tensor average_classes(const MulticlassCounts::State& state,
                           const Options& options, ClassValue value) {
  return rows_of(state, options)
      .averages(options.average(), value, options.ignore_index());
}

template <class Options>
at::Tensor rate_in(const MulticlassCounts::State& state, const Options& options,
                   const CountRate& rate) {
  return average_classes(state, options, share_by(options, rate));
}

/// The counts of a batch as MulticlassCounts keeps them, one row or a row per
/// sample: in one loop over memory (REQUIRES: a batch on the CPU), or with
/// tensor operations on any device. With weights one row of float64.
at::Tensor count_classes(const MulticlassBatch& batch, bool samplewise,
                         ClassDistance distance = ClassDistance::kNone);
at::Tensor count_classes_by_tensors(
    const MulticlassBatch& batch, bool samplewise,
    ClassDistance distance = ClassDistance::kNone);

}  // namespace internal::classification
}  // namespace tally
