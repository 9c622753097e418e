#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "tally/metrics/classification/options/average.h"
#include "tally/metrics/classification/options/score_kind.h"
#include "tally/metrics/classification/options/thresholds.h"

namespace tally {

/// What a metric on curves makes a curve of: the samples (binary), each class
/// against the rest (multiclass), or each label (multilabel).
struct CurveShape {
  enum class Task { kBinary, kMulticlass, kMultilabel };

  Task task = Task::kBinary;
  std::int64_t curves = 1;
};

/// The options that every metric on curves has, `Derived` being its own. Those
/// that agree in them share one state in a collection.
template <class Derived>
class BinaryCurveOptions {
 public:
  /// Where curves are evaluated: at every score, at a number of equally spaced
  /// thresholds, or at those of a list. Default: at every score.
  Derived& thresholds(Thresholds thresholds) {
    thresholds_ = std::move(thresholds);
    return derived();
  }
  const Thresholds& thresholds() const { return thresholds_; }

  /// What preds are; kScores only without thresholds. Default: probabilities.
  Derived& input(ScoreKind input) {
    input_ = input;
    return derived();
  }
  ScoreKind input() const { return input_; }

  /// Positions with this target do not count. It need not be a class.
  /// Default: none.
  Derived& ignore_index(std::optional<std::int64_t> ignore_index) {
    ignore_index_ = ignore_index;
    return derived();
  }
  std::optional<std::int64_t> ignore_index() const { return ignore_index_; }

  CurveShape shape() const { return {}; }
  void visit(OptionVisitor& v) {
    v("thresholds", thresholds_.value(), OptionRole::kSize);
    v("input", input_);
    v("ignore_index", ignore_index_);
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const {
    thresholds_.validate(metric);
    if (!thresholds_.exact())
      internal::classification::check_probability_kind(metric, input_);
  }

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }

  Thresholds thresholds_;
  ScoreKind input_ = ScoreKind::kProbabilities;
  std::optional<std::int64_t> ignore_index_;
};

/// The same for several classes.
template <class Derived>
class MulticlassCurveOptions : public BinaryCurveOptions<Derived> {
 public:
  /// The number of classes, at least 2.
  MulticlassCurveOptions(std::int64_t num_classes = 0)
      : num_classes_(num_classes) {}

  /// Targets are 0 to num_classes - 1.
  Derived& num_classes(std::int64_t num_classes) {
    num_classes_ = num_classes;
    return static_cast<Derived&>(*this);
  }
  std::int64_t num_classes() const { return num_classes_; }

  CurveShape shape() const {
    return {CurveShape::Task::kMulticlass, num_classes_};
  }
  void visit_curves(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize);
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

 private:
  std::int64_t num_classes_;
};

/// The same for several labels.
template <class Derived>
class MultilabelCurveOptions : public BinaryCurveOptions<Derived> {
 public:
  /// The number of labels, at least 1.
  MultilabelCurveOptions(std::int64_t num_labels = 0)
      : num_labels_(num_labels) {}

  /// The size of dimension 1 of preds and target.
  Derived& num_labels(std::int64_t num_labels) {
    num_labels_ = num_labels;
    return static_cast<Derived&>(*this);
  }
  std::int64_t num_labels() const { return num_labels_; }

  CurveShape shape() const {
    return {CurveShape::Task::kMultilabel, num_labels_};
  }
  void visit_curves(OptionVisitor& v) {
    v("num_labels", num_labels_, OptionRole::kSize);
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

 private:
  std::int64_t num_labels_;
};

/// `Options` (MulticlassCurveOptions or MultilabelCurveOptions) and how the
/// curves of classes or labels become one; kWeighted is for values only.
template <template <class> class Options, class Derived, Average kDefault>
class AveragedCurveOptions : public Options<Derived> {
  using Base = Options<Derived>;

 public:
  using Base::Base;

  /// kMicro pools the scores of all classes or labels; kMacro averages over
  /// those whose value is defined; kWeighted does with the number of their
  /// positives, or the sum of the positives' weights, as weights.
  Derived& average(Average average) {
    average_ = average;
    return static_cast<Derived&>(*this);
  }
  Average average() const { return average_; }

  void visit(OptionVisitor& v) {
    Base::visit_curves(v);
    v("average", average_, OptionRole::kValue);
    BinaryCurveOptions<Derived>::visit(v);
  }

 private:
  Average average_ = kDefault;
};

}  // namespace tally
