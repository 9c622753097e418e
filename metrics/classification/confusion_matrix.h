#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/confusion_values.h"
#include "tally/metrics/classification/counts/multiclass_confusion.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kConfusionMatrixSummary{
    "Counts of samples by true and predicted class.",
    "counts, or fractions in [0, 1]", "",
    "confusion, error matrix, contingency table",
    R"(C_{ij} = |\{n : y_n = i,\ \hat y_n = j\}|)"};

}  // namespace internal

/// Options of BinaryConfusionMatrix.
struct BinaryConfusionMatrixOptions
    : BinaryCountsOptions<BinaryConfusionMatrixOptions> {
  TALLY_INHERITED_ARG(BinaryConfusionMatrixOptions, Normalize,
                      normalize) = Normalize::kNone;

 public:
  void visit(OptionVisitor& v) {
    BinaryCountsOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue,
      internal::words::kNormalizedCounts);
  }
  Dimensions dimensions() const {
    return {Dimension::kSample, Dimension::kClass, Dimension::kClass};
  }
};

/// Options of MultilabelConfusionMatrix.
struct MultilabelConfusionMatrixOptions
    : MultilabelCountsOptions<MultilabelConfusionMatrixOptions> {
  using MultilabelCountsOptions::MultilabelCountsOptions;

  TALLY_INHERITED_ARG(MultilabelConfusionMatrixOptions, Normalize,
                      normalize) = Normalize::kNone;

 public:
  void visit(OptionVisitor& v) {
    MultilabelCountsOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue,
      internal::words::kNormalizedCounts);
  }
  Dimensions dimensions() const {
    return {Dimension::kSample, Dimension::kClass, Dimension::kOutcome,
            Dimension::kOutcome};
  }
};

/// Options of MulticlassConfusionMatrix.
///
/// Example:
///     MulticlassConfusionMatrix matrix(
///         MulticlassConfusionMatrixOptions(3).normalize(Normalize::kTrue));
struct MulticlassConfusionMatrixOptions
    : MulticlassConfusionOptions<MulticlassConfusionMatrixOptions> {
  using MulticlassConfusionOptions::MulticlassConfusionOptions;

  TALLY_INHERITED_ARG(MulticlassConfusionMatrixOptions, Normalize,
                      normalize) = Normalize::kNone;

 public:
  void visit(OptionVisitor& v) {
    MulticlassConfusionOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue,
      internal::words::kNormalizedCounts);
  }
  Dimensions dimensions() const {
    return {Dimension::kClass, Dimension::kClass};
  }
};

/// How often 0 and 1 were predicted as 0 and 1.
///
///     {{tn, fp}, {fn, tp}}
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: int64 counts, or float64 if weighted or normalized; [2, 2] or, with
/// kSamplewise, [N, 2, 2]. A row or column without entries is 0. State: that of
/// BinaryCounts, summed, or kept per sample. Without counted positions it is 0.
///
/// Not differentiable. As sklearn.metrics.confusion_matrix.
///
/// Example:
///     BinaryConfusionMatrix matrix;
///     matrix.update(preds, target);
///     at::Tensor value = matrix.compute();
class BinaryConfusionMatrix final
    : public MetricOf<BinaryConfusionMatrix, BinaryCounts, at::Tensor,
                      BinaryConfusionMatrixOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryConfusionMatrix";
  static constexpr MetricSummary kSummary =
      internal::kConfusionMatrixSummary.binary();

  at::Tensor evaluate(const State& state) const;
};

/// How often each class was predicted as each.
///
///     matrix[i][j] = positions with target i that were predicted as j
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, where ties go to the
/// lower class; weights [N, ...] (default: 1).
///
/// Result: int64 counts, or float64 if weighted or normalized; [C, C]. A row or
/// column without entries is 0. State: that of MulticlassConfusion, summed.
/// Without counted positions it is 0. NaN in preds or weight: the whole result
/// is NaN, and float64; kIgnore ignores the position. Ignored positions may
/// have any value.
///
/// Throws c10::IndexError for invalid class labels (on a GPU only with
/// validate_args; otherwise they are ignored), c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable. As
/// sklearn.metrics.confusion_matrix.
///
/// Example:
///     MulticlassConfusionMatrix matrix(10);
///     matrix.update(preds, target);
///     at::Tensor value = matrix.compute();
class MulticlassConfusionMatrix final
    : public MetricOf<MulticlassConfusionMatrix, MulticlassConfusion,
                      at::Tensor, MulticlassConfusionMatrixOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassConfusionMatrix";
  static constexpr MetricSummary kSummary =
      internal::kConfusionMatrixSummary.multiclass();

  at::Tensor evaluate(const State& state) const;
};

/// How often each label was predicted as unset and set.
///
///     {{tn, fp}, {fn, tp}}, per label
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: int64 counts, or float64 if weighted or normalized; [L, 2, 2] or,
/// with kSamplewise, [N, L, 2, 2]. A row or column without entries is 0. State:
/// that of MultilabelCounts, summed, or kept per sample. Without counted
/// positions it is 0.
///
/// Not differentiable. As sklearn.metrics.multilabel_confusion_matrix.
///
/// Example:
///     MultilabelConfusionMatrix matrix(5);
///     matrix.update(preds, target);
///     at::Tensor value = matrix.compute();
class MultilabelConfusionMatrix final
    : public MetricOf<MultilabelConfusionMatrix, MultilabelCounts, at::Tensor,
                      MultilabelConfusionMatrixOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelConfusionMatrix";
  static constexpr MetricSummary kSummary =
      internal::kConfusionMatrixSummary.multilabel();

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryConfusionMatrix, BinaryCounts, at::Tensor,
                               BinaryConfusionMatrixOptions>;
extern template class MetricOf<MulticlassConfusionMatrix, MulticlassConfusion,
                               at::Tensor, MulticlassConfusionMatrixOptions>;
extern template class MetricOf<MultilabelConfusionMatrix, MultilabelCounts,
                               at::Tensor, MultilabelConfusionMatrixOptions>;

}  // namespace tally
