#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/resampling/replicate_weights.h"

namespace tally::internal::intervals {

/// Replicates in which rows have weights by their id. The state has two parts:
/// that of the metric, and what the replicates follow from.
class ResamplingEngine : public IntervalEngine {
 public:
  ResamplingEngine(std::unique_ptr<Metric> metric,
                   const IntervalOptions& options);

  IntervalMethod method() const override;
  bool uses_ids() const override { return true; }
  StateKey key() const override;
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override;
  std::optional<DrawnResult> draw(const AnyState& state,
                                  const RowCount& count) const override;

 protected:
  /// The metric's values in the replicates, of `n` rows, by element.
  virtual std::vector<std::vector<double>> replicates(const AnyState& state,
                                                      std::int64_t n) const = 0;
  /// A state of the metric's identity and this one.
  AnyState identity_with(AnyState resampled) const;
  static const AnyState& whole(const AnyState& state);
  static const AnyState& resampled(const AnyState& state);
  /// Of each element, for ends of kBca.
  virtual std::vector<double> accelerations(const AnyState& state,
                                            std::size_t values) const;

  ReplicateWeights weights_;
};

}  // namespace tally::internal::intervals
