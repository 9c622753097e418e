#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/options/thresholds.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/score_kind.h"

namespace tally {

/// The kind of curves of a metric: over the samples (binary), for each class
/// against the rest (multiclass), or for each label (multilabel).
struct CurveShape {
  enum class Task { kBinary, kMulticlass, kMultilabel };

  Task task = Task::kBinary;
  std::int64_t curves = 1;
};

/// The options of every metric on curves, with `Derived` as its own options.
/// Metrics with equal options share one state in a collection.
template <class Derived>
class BinaryCurveOptions {
 public:
  /// The thresholds of curves: every score, a number of equally spaced
  /// thresholds, or a list. Default: every score.
  TALLY_INHERITED_ARG(Derived, Thresholds, thresholds);
  /// The kind of scores in preds; kScores only without thresholds. Default:
  /// probabilities.
  TALLY_INHERITED_ARG(Derived, ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be a class.
  TALLY_INHERITED_ARG(Derived, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;
  /// Whether an exact curve keeps every row, however many there are; otherwise
  /// many rows become sorted counts, a tenth of the bytes, with the same
  /// values. Default: false.
  TALLY_INHERITED_ARG(Derived, bool, keep_rows) = false;

 public:
  /// input(ScoreKind::kLogits).
  Derived& from_logits() { return this->input(ScoreKind::kLogits); }
  CurveShape shape() const { return {}; }
  /// Whether rows remain rows: asked for, or ranked by a softmax of them.
  bool keeps_rows() const { return keep_rows_; }
  void visit(OptionVisitor& v) {
    v("thresholds", thresholds_.value(), OptionRole::kSize,
      "Thresholds of the curve; none: every score.");
    v("input", input_, internal::words::kInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
    // States of either kind have been saved before there was a choice.
    v("keep_rows", keep_rows_,
      keep_rows_ ? OptionRole::kState : OptionRole::kValue,
      "Whether exact curves keep all rows, however many there are.");
  }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    thresholds_.validate(metric);
    if (!thresholds_.exact())
      internal::classification::check_probability_kind(metric, input_);
  }
};

/// The same for several classes.
template <class Derived>
class MulticlassCurveOptions : public BinaryCurveOptions<Derived> {
 public:
  /// The number of classes, at least 2.
  template <class Count, RequireCount<Count> = 0>
  MulticlassCurveOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassCurveOptions(internal::Unset) : num_classes_(0) {}

  /// Targets are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Derived, std::int64_t, num_classes);

 public:
  CurveShape shape() const {
    return {CurveShape::Task::kMulticlass, num_classes_};
  }
  bool keeps_rows() const {
    return this->keep_rows_ || this->input_ == ScoreKind::kLogits;
  }
  Dimensions dimensions() const { return {Dimension::kClass}; }
  void visit_curves(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
  }
  void visit(OptionVisitor& v) {
    visit_curves(v);
    BinaryCurveOptions<Derived>::visit(v);
  }
  void validate(const char* metric) const {
    TORCH_CHECK_VALUE(num_classes_ >= 2, metric,
                      ": expected num_classes to be at least 2, got ",
                      num_classes_);
    BinaryCurveOptions<Derived>::validate(metric);
  }
};

/// The same for several labels.
template <class Derived>
class MultilabelCurveOptions : public BinaryCurveOptions<Derived> {
 public:
  /// The number of labels, at least 1.
  template <class Count, RequireCount<Count> = 0>
  MultilabelCurveOptions(Count num_labels)
      : num_labels_(static_cast<std::int64_t>(num_labels)) {}
  explicit MultilabelCurveOptions(internal::Unset) : num_labels_(0) {}

  /// The size of dimension 1 of preds and target.
  TALLY_INHERITED_ARG(Derived, std::int64_t, num_labels);

 public:
  CurveShape shape() const {
    return {CurveShape::Task::kMultilabel, num_labels_};
  }
  Dimensions dimensions() const { return {Dimension::kClass}; }
  void visit_curves(OptionVisitor& v) {
    v("num_labels", num_labels_, OptionRole::kSize,
      internal::words::kNumLabels);
  }
  void visit(OptionVisitor& v) {
    visit_curves(v);
    BinaryCurveOptions<Derived>::visit(v);
  }
  void validate(const char* metric) const {
    TORCH_CHECK_VALUE(num_labels_ >= 1, metric,
                      ": expected num_labels to be at least 1, got ",
                      num_labels_);
    BinaryCurveOptions<Derived>::validate(metric);
  }
};

/// `Options` (MulticlassCurveOptions or MultilabelCurveOptions) and the average
/// over the curves of classes or labels; kWeighted is for values only.
template <template <class> class Options, class Derived, Average kDefault>
class AveragedCurveOptions : public Options<Derived> {
  using Base = Options<Derived>;

 public:
  using Base::Base;

  /// kMicro pools the scores of all classes or labels; kMacro averages over
  /// those whose value is defined; kWeighted weights them by the number of
  /// their positives, or the sum of the positives' weights.
  TALLY_INHERITED_ARG(Derived, Average, average) = kDefault;

 public:
  void visit(OptionVisitor& v) {
    Base::visit_curves(v);
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
    BinaryCurveOptions<Derived>::visit(v);
  }
};

}  // namespace tally
