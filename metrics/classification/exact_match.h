#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

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

/// How many samples are right in all that counts of them.
struct Matches {
  Number matches;
  Number total;
  Rows samples;  // kSamplewise: float64, the value of each

  void fields(Fields& f) {
    f("matches", matches)("total", total)("samples", samples);
  }
};

/// What is known of something that matches if all of its elements do.
enum MatchBits : std::uint8_t { kSeen = 1, kWrong = 2, kNan = 4 };

/// The state of [samples, parts] with bits each, weighted ([samples, parts]) or
/// not: the sums over all, or the mean of the parts of each sample.
Matches sum_matches(const at::Tensor& bits, const at::Tensor& weight,
                    bool samplewise);

/// The bits by one loop over memory (REQUIRES: a batch on the CPU), and by
/// tensor operations on any device: [samples, 1], or [samples, positions].
at::Tensor match_bits(const MulticlassBatch& batch);
at::Tensor match_bits_by_tensors(const MulticlassBatch& batch);
at::Tensor match_bits(const BinaryBatch& batch);
at::Tensor match_bits_by_tensors(const BinaryBatch& batch);

}  // namespace internal::classification

/// Counts the samples under MulticlassExactMatch.
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

/// Counts the samples under MultilabelExactMatch.
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
///     sum of w_i where sample i is right / sum of w_i
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, of which the lower
/// class wins ties; weights [N] (default: 1).
///
/// Result: float64 in [0, 1], of shape [] or, with kSamplewise, [N] of 0 and 1.
/// State: the two sums, or the values of the samples. Ignored positions are
/// not looked at; a sample without any other is ignored. No data gives NaN. NaN
/// in preds or weight: the result (of its sample) is NaN, kIgnore takes the
/// position or sample out.
///
/// Throws c10::IndexError for labels that are no classes (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for weights with
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The fraction of samples whose labels are all predicted correctly.
///
///     sum of w_i where sample i is right / sum of w_i
///
/// update(preds, target, weight = {}): target [N, L, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, of which `input` says what they are; weights [N, ...] (default: 1).
///
/// Result: float64 in [0, 1]: over all positions as samples or, with
/// kSamplewise, [N], over the positions of each. State: the two sums, or the
/// values of the samples. Ignored elements are not looked at; a position
/// without any other is ignored. No data gives NaN. NaN in preds or weight: the
/// result (of its sample) is NaN, kIgnore takes the element or position out.
///
/// Throws c10::IndexError for labels other than 0 and 1 (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for probabilities
/// outside [0, 1] and weights with kSamplewise, c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable. As
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
