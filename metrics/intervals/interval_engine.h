#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/interval_options.h"
#include "tally/metrics/intervals/row_matches.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/metrics/metric.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally::internal::intervals {

inline std::string text_of(IntervalMethod method) {
  return OptionType<IntervalMethod>::print(method);
}

/// A result as one list of numbers.
struct FlatResult {
  Results results;  // float64, on the CPU
  std::vector<double> values;
};
FlatResult flat_result(const Metric& metric, const AnyState& state);

/// What there is of all rows.
struct RowCount {
  std::int64_t rows = 0;     ///< that came
  std::int64_t weighed = 0;  ///< whose weight is not 0
  std::int64_t units = 0;    ///< groups, or rows
  bool are_groups = false;   ///< of rows, or of a metric's own units
  std::int64_t digest = 0;   ///< of the ids, in any order
};

/// A value, and those of each of its elements in replicates or without units.
struct DrawnResult {
  FlatResult value;
  std::vector<std::vector<double>> replicates;  // of each element
  // For those without units:
  UnitBasis basis;
  std::vector<std::int64_t> ids;
  std::vector<bool> are_means;    // of what units have alone
  double counted = 0;             // rows, or their weights
  std::vector<RowMatch> matches;  // by id, where rows are correct or not
};

/// One method of estimating intervals: what it accumulates, and what follows.
class IntervalEngine {
 public:
  IntervalEngine(std::unique_ptr<Metric> metric, IntervalOptions options)
      : metric_(std::move(metric)), options_(std::move(options)) {}
  virtual ~IntervalEngine() = default;

  const Metric& metric() const { return *metric_; }
  const IntervalOptions& options() const { return options_; }

  virtual IntervalMethod method() const { return options_.method(); }
  /// Whether results depend on ids.
  virtual bool uses_ids() const { return false; }
  /// Whether ends can be those of kBca.
  virtual bool has_bca() const { return false; }
  /// Whether it can draw rows by class.
  virtual bool has_strata() const { return false; }
  virtual AnyState identity() const { return metric_->make_state(); }
  virtual StateKey key() const { return metric_->state_key(); }
  /// The state of a batch whose rows have these ids; without ids if it does not
  /// use them.
  virtual AnyState observe(Inputs inputs,
                           const std::vector<std::int64_t>& ids) const = 0;
  virtual Intervals intervals(const AnyState& state,
                              const RowCount& count) const = 0;
  /// The replicates by id, if the method has any and there are rows.
  virtual std::optional<DrawnResult> draw(const AnyState&,
                                          const RowCount&) const {
    return std::nullopt;
  }

 protected:
  /// The batch's state of the metric.
  static AnyState observe_batch(const Metric& metric, Inputs inputs);
  /// An interval that has no value yet.
  Interval unfilled(const RowCount& count, std::int64_t replicates = 0) const;

  std::unique_ptr<Metric> metric_;
  IntervalOptions options_;
};

/// One element's interval.
struct Bounds {
  double low = kNaN;
  double high = kNaN;
  double standard_error = kNaN;
  std::int64_t undefined = 0;
  double degrees_of_freedom = kInfinity;
  IntervalFlags flags = {};
  IntervalMethod method = IntervalMethod::kAuto;  ///< if not the engine's

  static Bounds of(const UnitInterval& interval);
};

/// The intervals of a result's parts, given those of its elements in order.
Intervals make_intervals(const FlatResult& value,
                         const std::vector<Bounds>& bounds,
                         const Interval& unfilled);

/// The bounds from replicates; NaN are skipped. `acceleration`: for BCa.
/// Reorders `replicates`.
Bounds replicate_bounds(double value, std::vector<double>& replicates,
                        ReplicateInterval ends, double level,
                        double acceleration = 0);
/// The number of rows that all inputs with rows have, and 1 if they are 0-dim
/// tensors. Throws c10::ValueError if numbers differ.
std::int64_t rows_of_inputs(Inputs inputs);

}  // namespace tally::internal::intervals
