#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/options.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/sampling.h"
#include "tally/metrics/slices/slice_keys.h"
#include "tally/metrics/slices/sliced_rows.h"

namespace tally {

/// Options of SliceComparison.
struct SliceComparisonOptions {
  /// Slices with fewer rows than this, or whose complement has fewer, are not
  /// compared. Those that decide the value count: for a recall the positives,
  /// for an AUROC the smaller class (see deciding_rows), of retrieval queries.
  TORCH_ARG(std::int64_t, min_rows) = 30;
  /// The number of slices to compare: those with the most rows, of equal ones
  /// the first by key.
  TORCH_ARG(std::int64_t, largest) = 200;
  /// More slices than this are an error. Default: 10 000.
  TORCH_ARG(std::int64_t, max_slices) = 10'000;
  /// Of the intervals, in (0, 1).
  TORCH_ARG(double, level) = 0.95;
  /// Whether rows with the same id belong together, such as those of a patient:
  /// such a group is drawn as a whole. Without, an id that repeats is an error.
  TORCH_ARG(bool, grouped) = false;

 public:
  void visit(OptionVisitor& v) {
    v("min_rows", min_rows_, OptionRole::kValue,
      "Slices with fewer rows that decide are not compared.");
    v("largest", largest_, OptionRole::kValue,
      "The number of slices to compare, those with the most rows.");
    v("max_slices", max_slices_, "More slices than this are an error.");
    v("level", level_, OptionRole::kValue, "Of the intervals, in (0, 1).");
    v("grouped", grouped_, "Whether rows with the same id belong together.");
  }
};

/// A slice, compared with all other rows.
struct ComparedSlice {
  /// A value for each column.
  std::vector<SliceValue> key;
  std::int64_t rows = 0;
  std::int64_t units = 0;  ///< groups, queries, or else rows
  double value = 0;
  double value_low = 0;  ///< the interval of the value itself; NaN: none
  double value_high = 0;
  double rest = 0;        ///< the value of all other rows
  double difference = 0;  ///< value - rest
  double low = 0;         ///< the interval of the difference; NaN: none
  double high = 0;
  double standard_error = 0;
  /// Infinity for proportions of rows, whose test is exact.
  double degrees_of_freedom = 0;
  /// The difference in standard deviations of a row's influence.
  double effect = 0;
  /// The probability of such a difference if there were none, two-sided.
  double p_value = 0;
  /// The same, adjusted for the number of slices by Benjamini and Hochberg:
  /// among the slices with q_value <= 0.05, about 5 % are there by chance.
  double q_value = 0;
  IntervalFlags flags;

  /// "north, 3".
  std::string name() const;
};

/// Which slices are worse than the rest: compares a metric's value for each
/// slice with that for all other rows (the complement, not the total, which
/// contains the slice).
///
/// The worst of many slices looks bad even if all are equal, and so would its
/// own interval. Slices are therefore ordered by the end of the difference's
/// interval that is closer to no difference, the worst first, and tested
/// together.
///
/// update(keys, ids, ...): keys (see SlicedMetric), an id of each row (see
/// SampleIds), with `grouped` of its group, and the inputs of the metric. The
/// units of a retrieval metric are its queries, and each is in one slice:
/// update(keys, ...), without ids unless those are groups of queries. Rows with
/// a weight of 0, which fill batches, count in `rows` alone, and their ids
/// nowhere. compute(): the slices that have min_rows, the worst first; those
/// without an interval come last, and say why in their flags.
///
/// Fractions of rows, and what follows from one (accuracy, recall, F1), are two
/// independent proportions: Fisher's test with the mid-p correction, and
/// Newcombe's interval. For other values, for rows that have weights or several
/// trials, and for groups, the variance of the smaller of slice and complement
/// is that of a jackknife over up to 20 blocks of its units, but at least that
/// of as many of all rows; for the larger one it is the latter. Both add up to
///
///     se^2 = v + w,  v = max(jackknife, s^2 / n),  w = s^2 / m
///     s^2 = N jackknife of all rows
///     t = difference / se, with (v + w)^2 / (v^2 / df_v + w^2 / df_w) degrees
///         of freedom; df: of unequal blocks, by Satterthwaite
/// where n, m and N are rows that decide the value. Ends are cut off where no
/// difference can be. The interval of a slice's own value is Wilson's for
/// proportions, otherwise that of the same blocks. There is no interval and no
/// p-value where a block decides whether there is a value, and with a single
/// unit. A unit's block is a function of its id alone (that of IntervalMetric's
/// jackknife with blocks(20) and seed 0), so that results do not depend on the
/// split over ranks, batches or the order of rows. A group that has rows in a
/// slice and in its complement counts in both: the interval is then wider than
/// it need be.
///
/// Collective. State: that of the metric, once per slice and block, and 8 bytes
/// a row for its id, or a group and batch.
/// Empty without rows, and where one slice has all of them.
/// Errors: c10::ValueError for a metric whose result is not one number, for
/// which neither higher nor lower values are better, or whose value depends on
/// batches, when constructed; for other numbers of ids, for missing ids, and
/// for ids of documents; in compute() for an id that repeats without `grouped`,
/// and a query in two slices; and those of SlicedMetric. A call that throws
/// leaves everything unchanged. Not differentiable.
///
/// Thread-safety: as for Metric.
/// Source: Benjamini and Hochberg 1995; Newcombe 1998, method 10; Chung et al.,
/// "Slice Finder", ICDE 2019 (effect sizes). docs/reporting.md has simulations.
///
/// Example:
///     SliceComparison by_hospital{BinaryAccuracy()};
///     std::vector<std::string> hospital(scores.size(0), "north");
///     SampleIds rows(at::arange(scores.size(0)));
///     by_hospital.update(SliceKeys(hospital), rows, scores, labels);
///     for (const ComparedSlice& slice : by_hospital.compute()) {
///       std::cout << slice.name() << ' ' << slice.difference << ' ' <<
///       slice.q_value;
///     }
class SliceComparison final
    : public SlicedRows,
      public internal::UpdateCalls<SliceComparison, SliceKeys>,
      public internal::UpdateCalls<SliceComparison, SliceKeys, SampleIds>,
      public internal::OptionCalls<SliceComparison> {
  using Calls = internal::UpdateCalls<SliceComparison, SliceKeys>;
  using CallsWithIds =
      internal::UpdateCalls<SliceComparison, SliceKeys, SampleIds>;

 public:
  using Options = SliceComparisonOptions;
  static constexpr const char* kName = "SliceComparison";

  explicit SliceComparison(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }
  /// What counts: "row", "group", or "query" and the like, which needs no ids.
  const char* unit() const;
  bool takes_ids() const {
    return options_.grouped() || !sampling_->unit_input.has_value();
  }

  using Calls::update;
  using Calls::update_inputs;
  using CallsWithIds::update;
  using CallsWithIds::update_inputs;
  void update_inputs(const SliceKeys& keys, Inputs inputs);
  void update_inputs(const SliceKeys& keys, NamedInputs inputs);
  void update_inputs(const SliceKeys& keys, const SampleIds& ids,
                     Inputs inputs);
  void update_inputs(const SliceKeys& keys, const SampleIds& ids,
                     NamedInputs inputs);

  /// Over all ranks: those of the metric's communicator.
  std::vector<ComparedSlice> compute();
  /// See SlicedMetric::sync_async.
  PendingValue<std::vector<ComparedSlice>> sync_async();

  /// Adds what `other`, with the same metric, accumulated.
  void merge_state(const SliceComparison& other) { merge_from(other); }
  /// A separate metric with the same options and slices.
  SliceComparison clone() const;
  std::string repr() const;
  std::string spec() const override;

 private:
  /// Without a metric.
  explicit SliceComparison(Options options);

  const Metric& metric() const;
  void check_ids(const SliceKeys& keys, const SampleIds* ids) const;
  template <class AnyInputs>
  void update_with(const SliceKeys& keys, const SampleIds* ids,
                   AnyInputs inputs);
  std::vector<ComparedSlice> values_of(const internal::StateRows& rows) const;

  Options options_;
  bool higher_is_better_ = true;
  std::shared_ptr<const MetricSampling> sampling_;
  std::vector<ComparedSlice> value_;
};

/// It has none.
inline void for_each_tensor(ComparedSlice&,
                            c10::function_ref<void(at::Tensor&)>) {}

}  // namespace tally
