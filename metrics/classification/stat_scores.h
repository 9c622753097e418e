#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/average.h"
#include "tally/metrics/classification/multiclass_inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of MulticlassAccuracy, MulticlassPrecision, MulticlassRecall and
/// MulticlassF1Score. Metrics that differ only in `average` and
/// `zero_division` share one state in a collection.
///
/// Example:
///     MulticlassF1Score f1(
///         MulticlassStatScoresOptions(10).average(Average::kWeighted));
struct MulticlassStatScoresOptions {
  /// The number of classes, at least 2.
  MulticlassStatScoresOptions(std::int64_t num_classes = 0)
      : num_classes_(num_classes) {}

  /// Labels are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// kMacro and kWeighted average over the classes that occur as a target or
  /// as a prediction. Default: kMacro.
  TORCH_ARG(Average, average) = Average::kMacro;
  /// A sample is taken as predicted to be its target if that is among the
  /// top_k largest scores, else to be its best class. Default: 1.
  TORCH_ARG(std::int64_t, top_k) = 1;
  /// Default: kGlobal.
  TORCH_ARG(MultidimAverage, multidim_average) = MultidimAverage::kGlobal;
  /// Positions with this target do not count. It need not be a class.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;
  /// The value of a class where the metric divides by zero: 0, 1, or NaN,
  /// which also takes the class out of the averages. Default: 0.
  TORCH_ARG(double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_);
    v("average", average_, OptionRole::kValue);
    v("top_k", top_k_);
    v("multidim_average", multidim_average_);
    v("ignore_index", ignore_index_);
    v("zero_division", zero_division_, OptionRole::kValue);
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const;
};

using MulticlassAccuracyOptions = MulticlassStatScoresOptions;
using MulticlassPrecisionOptions = MulticlassStatScoresOptions;
using MulticlassRecallOptions = MulticlassStatScoresOptions;
using MulticlassF1ScoreOptions = MulticlassStatScoresOptions;

/// Counts, for each class, how often it was predicted rightly, predicted, and
/// the target: with their total, all of tp, fp, fn and tn.
struct MulticlassStatScores {
  static constexpr const char* kName = "MulticlassStatScores";
  using Options = MulticlassStatScoresOptions;

  /// A row of counts is int64 [3 * num_classes + 1]: true positives by class,
  /// predictions by class, targets by class, and positions with a NaN.
  struct State {
    at::Tensor counts;  // one row; kGlobal
    Rows samples;       // a row for each sample; kSamplewise

    void fields(Fields& f) { f("counts", counts)("samples", samples); }
  };

  MulticlassStatScores(const Options& options,
                       const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  internal::MulticlassRules rules_;
  bool samplewise_;
};

namespace internal {

/// The counts of one class, or of several together.
struct ClassCounts {
  std::int64_t tp = 0;
  std::int64_t predicted = 0;
  std::int64_t target = 0;
};

/// A value of the form numerator / denominator, with which classes are scored.
struct Ratio {
  std::int64_t numerator;
  std::int64_t denominator;
};
using ClassRatio = Ratio (*)(const ClassCounts&);

/// The averages of the classes' ratios that the options ask for, as float64 of
/// shape [] or [num_classes] (kGlobal), [N] or [N, num_classes] (kSamplewise).
/// NaN where nothing was counted, or a NaN was.
at::Tensor average_classes(const MulticlassStatScores::State& state,
                           const MulticlassStatScoresOptions& options,
                           ClassRatio ratio);

/// The counts of a batch as MulticlassStatScores keeps them, one row or a row
/// per sample: by one loop over memory (REQUIRES: a batch on the CPU), and by
/// tensor operations on any device.
at::Tensor count_classes(const MulticlassBatch& batch, bool samplewise);
at::Tensor count_classes_by_tensors(const MulticlassBatch& batch,
                                    bool samplewise);

}  // namespace internal
}  // namespace tally
