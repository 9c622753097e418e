#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kExactMatchSummary{
    "Fraction of samples with every label correct.", "[0, 1]", "",
    "subset accuracy, exact match ratio, emr",
    R"(\frac{1}{N} \sum_n \prod_l [\hat y_{nl} = y_{nl}])"};

}  // namespace internal

/// Options of MulticlassExactMatch.
struct MulticlassExactMatchOptions
    : MulticlassCountsOptions<MulticlassExactMatchOptions> {
  using MulticlassCountsOptions::MulticlassCountsOptions;
};

/// Options of MultilabelExactMatch.
struct MultilabelExactMatchOptions
    : MultilabelCountsOptions<MultilabelExactMatchOptions> {
  using MultilabelCountsOptions::MultilabelCountsOptions;
};

namespace internal::classification {

/// Sums over samples whose counted elements are all correct.
struct Matches {
  Number matches;
  Number total;
  Rows samples;  // kSamplewise: float64, one value per sample

  void fields(Fields& f) {
    f("matches", matches)("total", total)("samples", samples);
  }
};

/// The state for bits (MatchSampling) [samples, parts], optionally weighted
/// ([samples, parts]): the sums over all, or the mean over the parts of each
/// sample.
Matches sum_matches(const at::Tensor& bits, const at::Tensor& weight,
                    bool samplewise);

/// Computes the bits in one loop over memory (REQUIRES: a batch on the CPU), or
/// with tensor operations on any device: [samples, 1], or [samples, positions].
at::Tensor match_bits(const MulticlassBatch& batch);
at::Tensor match_bits_by_tensors(const MulticlassBatch& batch);
at::Tensor match_bits(const BinaryBatch& batch);
at::Tensor match_bits_by_tensors(const BinaryBatch& batch);

/// Whether rows are correct: of two classes, of several, of labels.
MatchSampling binary_matches(const BinaryRules& rules);
MatchSampling class_matches(const MulticlassRules& rules,
                            std::int64_t target_dims);

}  // namespace internal::classification

/// Counts the samples for MulticlassExactMatch.
class MulticlassMatches {
 public:
  static constexpr const char* kName = "MulticlassMatches";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal,
       "int labels [N, ...] or float scores [N, C, ...]"},
      {"target", InputKind::kReal, "int or float labels [N, ...]"},
      {"weight", InputKind::kReal, "real [N]", /*is_optional=*/true}};
  using Options = MulticlassExactMatchOptions;
  using State = internal::classification::Matches;

  MulticlassMatches(const Options& options,
                    const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  internal::classification::MulticlassRules rules_;
  bool samplewise_;
};

/// Counts the samples for MultilabelExactMatch.
class MultilabelMatches {
 public:
  static constexpr const char* kName = "MultilabelMatches";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelInputs;
  using Options = MultilabelExactMatchOptions;
  using State = internal::classification::Matches;

  MultilabelMatches(const Options& options,
                    const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t num_labels_;
  internal::classification::BinaryRules rules_;
  bool samplewise_;
};

/// The fraction of samples whose positions are all predicted correctly.
///
///     sum of w_i where sample i is correct / sum of w_i
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, where ties go to the
/// lower class; weights [N] (default: 1).
///
/// Result: float64 in [0, 1], of shape [] or, with kSamplewise, [N] of 0 and 1.
/// State: the two sums, or the values of the samples. Ignored positions are not
/// compared; a sample with only ignored positions is ignored. Without data it
/// is
/// NaN. NaN in preds or weight: the result (of its sample) is NaN, kIgnore
/// ignores the position or sample.
///
/// Throws c10::IndexError for invalid class labels (on a GPU only with
/// validate_args; otherwise they are ignored), c10::ValueError for weights with
/// kSamplewise, c10::TypeError and c10::ValueError for other inputs. Not
/// differentiable.
///
/// Example:
///     MulticlassExactMatch match(10);
///     match.update(preds, target);
///     at::Tensor value = match.compute();
class MulticlassExactMatch final
    : public MetricOf<MulticlassExactMatch, MulticlassMatches, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassExactMatch";
  static constexpr MetricSummary kSummary =
      internal::kExactMatchSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// The fraction of samples whose labels are all predicted correctly.
///
///     sum of w_i where sample i is correct / sum of w_i
///
/// update(preds, target, weight = {}): target [N, L, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, whose kind is given by `input`; weights [N, ...] (default: 1).
///
/// Result: float64 in [0, 1]: over all positions as samples or, with
/// kSamplewise, [N], over the positions of each. State: the two sums, or the
/// values of the samples. Ignored elements are not compared; a position with
/// only ignored elements is ignored. Without data it is NaN. NaN in preds or
/// weight: the result (of its sample) is NaN, kIgnore ignores the element or
/// position.
///
/// Throws c10::IndexError for labels other than 0 and 1 (on a GPU only with
/// validate_args; otherwise they are ignored), c10::ValueError for
/// probabilities outside [0, 1] and weights with kSamplewise, c10::TypeError
/// and c10::ValueError for other inputs. Not differentiable. As
/// sklearn.metrics.accuracy_score of several labels.
///
/// Example:
///     MultilabelExactMatch match(5);
///     match.update(preds, target);
///     at::Tensor value = match.compute();
class MultilabelExactMatch final
    : public MetricOf<MultilabelExactMatch, MultilabelMatches, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelExactMatch";
  static constexpr MetricSummary kSummary =
      internal::kExactMatchSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

extern template class MetricOf<MulticlassExactMatch, MulticlassMatches,
                               at::Tensor>;
extern template class MetricOf<MultilabelExactMatch, MultilabelMatches,
                               at::Tensor>;

}  // namespace tally
