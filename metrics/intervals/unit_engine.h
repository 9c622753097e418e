#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/unit_states.h"
#include "tally/metrics/intervals/unit_statistics.h"

namespace tally::internal::intervals {

/// A metric's value, and those of units, for each element of the result.
struct DrawnUnits {
  FlatResult value;
  std::vector<UnitValues> elements;
  UnitBasis basis;
  std::vector<std::int64_t> ids;  ///< of the units, or the blocks
  double counted = 0;             ///< rows, or their weights
  std::vector<bool> are_missing;  ///< elements that are rates of no rows
  bool has_missing_class = false;
};

/// For any metric: a state for each unit, or, where there are many, for each
/// block of them. What follows is in unit_statistics.h.
class UnitEngine final : public IntervalEngine {
 public:
  UnitEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options);

  IntervalMethod method() const override { return IntervalMethod::kJackknife; }
  bool uses_ids() const override { return true; }
  AnyState identity() const override;
  StateKey key() const override;
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override;
  std::optional<DrawnResult> draw(const AnyState& state,
                                  const RowCount& count) const override;

  DrawnUnits units_of(const AnyState& state, const RowCount& count) const;
  const MetricSampling& sampling() const { return sampling_; }

 private:
  /// Whether the state also keeps which rows are correct, so that runs made
  /// apart are compared by McNemar's test.
  bool keeps_matches() const {
    return sampling_.matches && !options_.grouped();
  }
  const AnyState& units_in(const AnyState& state) const;
  AnyState observe_units(Inputs inputs,
                         const std::vector<std::int64_t>& ids) const;
  AnyState observe_matches(Inputs inputs,
                           const std::vector<std::int64_t>& ids) const;
  /// In the order of ids; empty if they are not known of every row.
  std::vector<RowMatch> matches_of(const AnyState& state,
                                   const RowCount& count) const;
  /// What one row adds to the sizes of units; null: 1.
  at::Tensor weights_of(Inputs inputs, std::size_t rows) const;

  MetricSampling sampling_;
  std::optional<std::size_t> weight_place_;
  std::shared_ptr<const AnyState> empty_;
  bool keeps_rows_;  // of all inputs, as they came
  BlockRules rules_;
};

}  // namespace tally::internal::intervals
