#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kFBetaScoreSummary{
    "Weighted harmonic mean of precision and recall.",
    "[0, 1]",
    "",
    "fbeta, f2, f-measure",
    R"(\frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP})",
    "van Rijsbergen 1979"};
inline constexpr MetricSummary kF1ScoreSummary{
    "Harmonic mean of precision and recall.",
    "[0, 1]",
    "",
    "f1, f-score, f-measure, dice",
    R"(\frac{2 TP}{2 TP + FP + FN})",
    "van Rijsbergen 1979"};

}  // namespace internal

namespace internal::classification {

/// Throws c10::ValueError unless beta is finite and at least 0.
void check_beta(const char* metric, double beta);

/// Options of F-beta scores in addition to those of `Base`.
template <class Self, class Base>
struct FBetaOptions : Base {
  explicit FBetaOptions(double beta) : beta_(beta) {}
  FBetaOptions(std::int64_t count, double beta) : Base(count), beta_(beta) {}

  /// Recall is weighted beta times as much as precision; at least 0. Default:
  /// 1, which is the F1 score.
  TALLY_INHERITED_ARG(Self, double, beta);
  /// The value (of a class or label) if the metric divides by zero: 0, 1, or
  /// NaN, which also excludes it from averages.
  TALLY_INHERITED_ARG(Self, double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    Base::visit(v);
    v("beta", beta_, OptionRole::kValue, internal::words::kBeta);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const {
    Base::validate(metric);
    check_beta(metric, beta_);
    check_zero_division(metric, zero_division_);
  }
};

}  // namespace internal::classification

/// Options of BinaryFBetaScore.
struct BinaryFBetaScoreOptions
    : internal::classification::FBetaOptions<
          BinaryFBetaScoreOptions,
          BinaryCountsOptions<BinaryFBetaScoreOptions>> {
  BinaryFBetaScoreOptions(double beta = 1) : FBetaOptions(beta) {}
};

/// Options of MulticlassFBetaScore.
struct MulticlassFBetaScoreOptions
    : internal::classification::FBetaOptions<
          MulticlassFBetaScoreOptions,
          MulticlassAverageOptions<MulticlassFBetaScoreOptions>> {
  template <class Count, RequireCount<Count> = 0>
  MulticlassFBetaScoreOptions(Count num_classes, double beta = 1)
      : FBetaOptions(static_cast<std::int64_t>(num_classes), beta) {}
  explicit MulticlassFBetaScoreOptions(internal::Unset) : FBetaOptions(0, 1) {}
};

/// Options of MultilabelFBetaScore.
struct MultilabelFBetaScoreOptions
    : internal::classification::FBetaOptions<
          MultilabelFBetaScoreOptions,
          MultilabelAverageOptions<MultilabelFBetaScoreOptions>> {
  template <class Count, RequireCount<Count> = 0>
  MultilabelFBetaScoreOptions(Count num_labels, double beta = 1)
      : FBetaOptions(static_cast<std::int64_t>(num_labels), beta) {}
  explicit MultilabelFBetaScoreOptions(internal::Unset) : FBetaOptions(0, 1) {}
};

using BinaryF1ScoreOptions = BinaryRateOptions;
using MulticlassF1ScoreOptions = MulticlassRateOptions;
using MultilabelF1ScoreOptions = MultilabelRateOptions;

/// The weighted harmonic mean of the precision and recall of one class.
///
///     (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)
/// It is zero_division if 1 is neither predicted nor a target.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.fbeta_score.
///
/// Example:
///     BinaryFBetaScore f2(2.0);
///     f2.update(preds, target);
///     at::Tensor value = f2.compute();
class BinaryFBetaScore final
    : public MetricOf<BinaryFBetaScore, BinaryCounts, at::Tensor,
                      BinaryFBetaScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryFBetaScore";
  static constexpr MetricSummary kSummary =
      internal::kFBetaScoreSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{};

  at::Tensor evaluate(const State& state) const;
};

/// The harmonic mean of the precision and recall of one class.
///
///     2 tp / (2 tp + fp + fn)
/// It is zero_division if 1 is neither predicted nor a target.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.f1_score.
///
/// Example:
///     BinaryF1Score f1;
///     f1.update(preds, target);
///     at::Tensor value = f1.compute();
class BinaryF1Score final : public MetricOf<BinaryF1Score, BinaryCounts,
                                            at::Tensor, BinaryF1ScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryF1Score";
  static constexpr MetricSummary kSummary = internal::kF1ScoreSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kF1Rate;

  at::Tensor evaluate(const State& state) const;
};

/// The weighted harmonic mean of the precision and recall of each class.
///
///     (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)
/// Averages are over the classes that occur.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.fbeta_score.
///
/// Example:
///     MulticlassFBetaScore f2(MulticlassFBetaScoreOptions(10, 2.0));
///     f2.update(preds, target);
///     at::Tensor value = f2.compute();
class MulticlassFBetaScore final
    : public MetricOf<MulticlassFBetaScore, MulticlassCounts, at::Tensor,
                      MulticlassFBetaScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassFBetaScore";
  static constexpr MetricSummary kSummary =
      internal::kFBetaScoreSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{};

  at::Tensor evaluate(const State& state) const;
};

/// The harmonic mean of the precision and recall of each class.
///
///     2 tp / (2 tp + fp + fn), per class or (micro) over all classes
/// Averages are over the classes that occur.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.f1_score.
///
/// Example:
///     MulticlassF1Score f1(10);
///     f1.update(preds, target);
///     at::Tensor value = f1.compute();
class MulticlassF1Score final
    : public MetricOf<MulticlassF1Score, MulticlassCounts, at::Tensor,
                      MulticlassF1ScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassF1Score";
  static constexpr MetricSummary kSummary =
      internal::kF1ScoreSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kF1Rate;

  at::Tensor evaluate(const State& state) const;
};

/// The weighted harmonic mean of the precision and recall of each label.
///
///     (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)
/// A label that does not occur contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.fbeta_score.
///
/// Example:
///     MultilabelFBetaScore f2(MultilabelFBetaScoreOptions(5, 2.0));
///     f2.update(preds, target);
///     at::Tensor value = f2.compute();
class MultilabelFBetaScore final
    : public MetricOf<MultilabelFBetaScore, MultilabelCounts, at::Tensor,
                      MultilabelFBetaScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelFBetaScore";
  static constexpr MetricSummary kSummary =
      internal::kFBetaScoreSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The harmonic mean of the precision and recall of each label.
///
///     2 tp / (2 tp + fp + fn), per label, per sample or (micro) of all
/// A label that does not occur contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.f1_score.
///
/// Example:
///     MultilabelF1Score f1(5);
///     f1.update(preds, target);
///     at::Tensor value = f1.compute();
class MultilabelF1Score final
    : public MetricOf<MultilabelF1Score, MultilabelCounts, at::Tensor,
                      MultilabelF1ScoreOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelF1Score";
  static constexpr MetricSummary kSummary =
      internal::kF1ScoreSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kF1Rate;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryFBetaScore, BinaryCounts, at::Tensor,
                               BinaryFBetaScoreOptions>;
extern template class MetricOf<BinaryF1Score, BinaryCounts, at::Tensor,
                               BinaryF1ScoreOptions>;
extern template class MetricOf<MulticlassFBetaScore, MulticlassCounts,
                               at::Tensor, MulticlassFBetaScoreOptions>;
extern template class MetricOf<MulticlassF1Score, MulticlassCounts, at::Tensor,
                               MulticlassF1ScoreOptions>;
extern template class MetricOf<MultilabelFBetaScore, MultilabelCounts,
                               at::Tensor, MultilabelFBetaScoreOptions>;
extern template class MetricOf<MultilabelF1Score, MultilabelCounts, at::Tensor,
                               MultilabelF1ScoreOptions>;

}  // namespace tally
