#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

namespace internal::classification {

/// Throws c10::ValueError unless there are at least 2 groups.
void check_num_groups(const char* metric, std::int64_t num_groups);

}  // namespace internal::classification

/// Options of all metrics over BinaryGroupCounts. Metrics with equal options
/// share one state in a collection.
template <class Self>
struct BinaryGroupOptions {
  /// The number of groups, at least 2.
  template <class Count, RequireCount<Count> = 0>
  BinaryGroupOptions(Count num_groups)
      : num_groups_(static_cast<std::int64_t>(num_groups)) {}
  explicit BinaryGroupOptions(internal::Unset) : num_groups_(0) {}

  /// Groups are 0 to num_groups - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_groups);
  /// Scores above it are predicted as 1; it is rounded to their dtype. In [0,
  /// 1], by default 0.5; with ScoreKind::kScores any number, on their scale,
  /// which has to be given.
  TALLY_INHERITED_ARG(Self, ScoreThreshold, threshold) = {};
  /// The kind of floating-point preds: with logits the threshold still applies
  /// to probabilities; scores may be of any scale. Default: probabilities.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be 0 or 1.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  Self& from_logits() { return this->input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("num_groups", num_groups_, OptionRole::kSize,
      "Number of groups, at least 2.");
    v("threshold", threshold_, internal::words::kThreshold);
    v("input", input_, internal::words::kProbabilityInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    internal::classification::check_num_groups(metric, num_groups_);
    internal::classification::check_threshold(metric, threshold_, input_);
  }
};

/// Options of BinaryGroupStatRates.
struct BinaryGroupStatRatesOptions
    : BinaryGroupOptions<BinaryGroupStatRatesOptions> {
  using BinaryGroupOptions::BinaryGroupOptions;
  Dimensions dimensions() const {
    return {Dimension::kGroup, Dimension::kCount};
  }
};

/// The rate that BinaryFairness compares between groups.
enum class FairnessTask {
  kDemographicParity,  ///< how often 1 is predicted
  kEqualOpportunity,   ///< how often 1 is predicted if the target is 1
  kAll,                ///< both
};

template <>
struct EnumNames<FairnessTask> {
  static constexpr const char* kNames[] = {"demographic_parity",
                                           "equal_opportunity", "all"};
};

/// Options of BinaryFairness.
///
/// Example:
///     BinaryFairness fairness(
///         BinaryFairnessOptions(2).task(FairnessTask::kEqualOpportunity));
struct BinaryFairnessOptions : BinaryGroupOptions<BinaryFairnessOptions> {
  using BinaryGroupOptions::BinaryGroupOptions;

  TALLY_INHERITED_ARG(BinaryFairnessOptions, FairnessTask,
                      task) = FairnessTask::kAll;

 public:
  void visit(OptionVisitor& v) {
    BinaryGroupOptions::visit(v);
    v("task", task_, OptionRole::kValue,
      "Which rates are compared between groups.");
  }
};

/// Counts per group how often 1 was predicted correctly, predicted, and the
/// target.
class BinaryGroupCounts {
 public:
  static constexpr const char* kName = "BinaryGroupCounts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "int 0 or 1, or float scores [N, ...]"},
      {"target", InputKind::kReal, "int or float 0 or 1 [N, ...]"},
      {"groups", InputKind::kGroups, "int [N, ...]"}};
  using Options = BinaryGroupStatRatesOptions;

  struct State {
    at::Tensor counts;  // int64 [kElementCounts, num_groups]
    void fields(Fields& f) { f("counts", counts); }
  };

  template <class AnyOptions>
  BinaryGroupCounts(const AnyOptions& options,
                    const MetricOptions& metric_options)
      : num_groups_(options.num_groups()),
        rules_{options.threshold(),
               options.input(),
               options.ignore_index(),
               metric_options.nan_policy(),
               metric_options.validate_args(),
               /*takes_scores=*/true} {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& groups) const;

 private:
  std::int64_t num_groups_;
  internal::classification::BinaryRules rules_;
};

namespace internal::classification {

/// Counts in one loop over memory (REQUIRES: a batch on the CPU), or with
/// tensor operations on any device. Throws for invalid groups, on a GPU only
/// with validate_args; otherwise their positions are ignored.
at::Tensor count_groups(const BinaryBatch& batch, const at::Tensor& groups,
                        std::int64_t num_groups);
at::Tensor count_groups_by_tensors(const BinaryBatch& batch,
                                   const at::Tensor& groups,
                                   std::int64_t num_groups);

}  // namespace internal::classification

/// The rates of true and false positives and negatives in each group.
///
///     tp, fp, tn, fn of the group, each / total of the group
///
/// update(preds, target, groups): target [N, ...] holds 0 and 1 in any real
/// dtype; preds too, in an integer dtype or bool, or floating-point scores,
/// whose kind is given by `input`; groups [N, ...] are integers in [0,
/// num_groups).
///
/// Result: float64 [num_groups, 4], in [0, 1]; NaN for a group without
/// positions. State: five counts per group (kSum), so that a batch or rank may
/// lack groups. NaN in preds: the group is NaN, kIgnore ignores the position.
/// Ignored positions may have any value.
///
/// Throws c10::IndexError for labels other than 0 and 1 and for invalid groups
/// (on a GPU only with validate_args; otherwise they are ignored),
/// c10::ValueError for probabilities outside [0, 1], c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable.
///
/// Example:
///     BinaryGroupStatRates rates(2);
///     rates.update(preds, target, /*groups=*/target);
///     at::Tensor value = rates.compute();
class BinaryGroupStatRates final
    : public MetricOf<BinaryGroupStatRates, BinaryGroupCounts, at::Tensor,
                      BinaryGroupStatRatesOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryGroupStatRates";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Rates of true and false positives and negatives by group.",
                    "[0, 1]", "", "group fairness rates, rates by group",
                    R"(\frac{(TP,\ FP,\ TN,\ FN)_g}{N_g})"}
          .binary()
          .needing("num_groups=2");

  at::Tensor evaluate(const State& state) const;
};

/// The ratio of the lowest to the highest rate of the groups, and these two
/// groups: int64 [2]. Only the parts requested by the task are defined.
struct Fairness {
  at::Tensor demographic_parity;
  at::Tensor demographic_parity_groups;
  at::Tensor equal_opportunity;
  at::Tensor equal_opportunity_groups;

  void visit(ResultParts& parts);
};

/// The similarity of the groups' rates: 1 if all have the same rate.
///
///     demographic_parity: min over groups of (tp + fp) / total / max of it
///     equal_opportunity: min over groups of tp / (tp + fn) / max of it
///
/// update(preds, target, groups): target [N, ...] holds 0 and 1 in any real
/// dtype; preds too, in an integer dtype or bool, or floating-point scores,
/// whose kind is given by `input`; groups [N, ...] are integers in [0,
/// num_groups).
///
/// Result: ratios, 0-dim float64 in [0, 1], each with the lowest and highest
/// group, int64 [2]. Groups without positions (without targets that are 1) have
/// no rate and are excluded. With fewer than two groups left nothing is
/// compared, and the ratio is NaN, as it is if all rates are 0; with none left
/// the groups are -1. State: five counts per group (kSum), so that a
/// batch or rank may lack groups. NaN in preds: ratios are NaN, kIgnore ignores
/// the position.
///
/// Throws like BinaryGroupStatRates. Not differentiable. Source: Hardt, Price
/// and Srebro, 2016.
///
/// Example:
///     BinaryFairness fairness(2);
///     fairness.update(preds, target, /*groups=*/target);
///     double ratio = fairness.compute().equal_opportunity.item<double>();
class BinaryFairness final : public MetricOf<BinaryFairness, BinaryGroupCounts,
                                             Fairness, BinaryFairnessOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryFairness";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfRatios;
  static constexpr MetricSummary kSummary =
      MetricSummary{"Ratio of the lowest to the highest rate of any group.",
                    "[0, 1]",
                    "",
                    "demographic parity, equal opportunity, disparate impact, "
                    "four-fifths rule",
                    R"(\frac{\min_g r_g}{\max_g r_g})",
                    "Hardt, Price and Srebro 2016"}
          .binary()
          .needing("num_groups=2");
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Fairness evaluate(const State& state) const;
};

extern template class MetricOf<BinaryGroupStatRates, BinaryGroupCounts,
                               at::Tensor, BinaryGroupStatRatesOptions>;
extern template class MetricOf<BinaryFairness, BinaryGroupCounts, Fairness,
                               BinaryFairnessOptions>;

}  // namespace tally
