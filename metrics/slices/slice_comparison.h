#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/slices/slice_keys.h"
#include "tally/metrics/slices/sliced_rows.h"

namespace tally {

/// Options of SliceComparison.
struct SliceComparisonOptions {
  /// Slices with fewer rows than this, or whose complement has fewer, are not
  /// compared.
  TORCH_ARG(std::int64_t, min_rows) = 30;
  /// The number of slices to compare: those with the most rows, of equal ones
  /// the first by key.
  TORCH_ARG(std::int64_t, largest) = 200;
  /// More slices than this are an error. Default: 10 000.
  TORCH_ARG(std::int64_t, max_slices) = 10'000;
  /// Of the intervals, in (0, 1).
  TORCH_ARG(double, level) = 0.95;
};

/// A slice, compared with all other rows.
struct ComparedSlice {
  /// A value for each column.
  std::vector<SliceValue> key;
  std::int64_t rows = 0;
  double value = 0;
  double rest = 0;        ///< the value of all other rows
  double difference = 0;  ///< value - rest
  double low = 0;         ///< the interval of the difference
  double high = 0;
  /// The difference in standard deviations of a row's influence.
  double effect = 0;
  /// The probability of such a difference if there were none, two-sided.
  double p_value = 0;
  /// The same, adjusted for the number of slices by Benjamini and Hochberg:
  /// among the slices with q_value <= 0.05, about 5 % are there by chance.
  double q_value = 0;

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
/// SampleIds), and the inputs of the metric. compute(): the slices
/// that have min_rows, the worst first; undefined differences come last.
///
/// The variance of the smaller of slice and complement is that of a jackknife
/// over 20 blocks of its rows, but at least that of as many of all rows; for
/// the larger one it is the latter. Both add up to
///
///     se^2 = max(jackknife, s^2 / n) + s^2 / m,  s^2 = N jackknife of all rows
///     t = difference / se, with 19 degrees of freedom
/// A row's block is a function of its id alone (that of IntervalMetric's
/// jackknife with seed 0), so that results do not depend on the split over
/// ranks, batches or the order of rows.
///
/// Collective. State: that of the metric, once per slice and block.
/// Empty without rows, and where one slice has all of them.
/// Errors: c10::ValueError for a metric whose result is not one number, for
/// which neither higher nor lower values are better, or whose value depends on
/// batches, when constructed; for other numbers of ids; and those of
/// SlicedMetric. A call that throws leaves everything unchanged. Not
/// differentiable.
///
/// Thread-safety: as for Metric.
/// Source: Benjamini and Hochberg 1995; Chung et al., "Slice Finder", ICDE 2019
/// (effect sizes).
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
      public internal::UpdateCalls<SliceComparison, SliceKeys, SampleIds>,
      public internal::OptionCalls<SliceComparison> {
 public:
  using Options = SliceComparisonOptions;
  static constexpr const char* kName = "SliceComparison";

  explicit SliceComparison(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }

  using UpdateCalls::update_inputs;
  void update_inputs(const SliceKeys& keys, const SampleIds& ids,
                     Inputs inputs) {
    update_rows(with_blocks(keys, ids), inputs);
  }
  void update_inputs(const SliceKeys& keys, const SampleIds& ids,
                     NamedInputs inputs) {
    update_rows(with_blocks(keys, ids), inputs);
  }

  /// Over all ranks: those of the metric's communicator.
  std::vector<ComparedSlice> compute();
  /// See SlicedMetric::sync_async.
  PendingValue<std::vector<ComparedSlice>> sync_async();

  /// Adds what `other`, with the same metric, accumulated.
  void merge_state(const SliceComparison& other) { merge_from(other); }
  /// A separate metric with the same options and slices.
  SliceComparison clone() const;
  std::string repr() const;

 private:
  struct Group;

  /// Without a metric.
  explicit SliceComparison(Options options);

  const Metric& metric() const;
  SliceKeys with_blocks(const SliceKeys& keys, const SampleIds& ids) const;
  std::vector<Group> groups(const internal::StateRows& rows) const;
  void compare(const std::vector<Group>& groups,
               std::vector<ComparedSlice>& slices) const;
  std::vector<ComparedSlice> values_of(const internal::StateRows& rows) const;

  Options options_;
  bool higher_is_better_ = true;
  std::vector<ComparedSlice> value_;
};

inline std::vector<ComparedSlice> copy_of(std::vector<ComparedSlice> slices) {
  return slices;
}

}  // namespace tally
