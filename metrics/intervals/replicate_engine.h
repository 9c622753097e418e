#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/replicate_weights.h"

namespace tally::internal::intervals {

/// Sums of what rows add to the fields of a state, weighted for each replicate.
struct ReplicateSums {
  ReplicateSums() = default;
  explicit ReplicateSums(std::size_t fields);

  /// float64 [elements, replicates] of each field; undefined without rows, and
  /// for fields that no row has.
  std::vector<at::Tensor> sums;
  at::Tensor weights;  ///< float64 [replicates]: sums of the weights
  std::shared_ptr<const std::vector<std::string>> names;

  void fields(Fields& f);
};

/// Whether all fields are sums, so that the state of a batch is the sum of
/// those of its rows.
bool is_sum_of_rows(const AnyState& state);

/// For metrics whose states are sums over rows: a state for each replicate, in
/// which rows have weights by their id.
class ReplicateEngine final : public IntervalEngine {
 public:
  ReplicateEngine(std::unique_ptr<Metric> metric,
                  const IntervalOptions& options);

  IntervalMethod method() const override;
  bool uses_ids() const override { return true; }
  AnyState identity() const override;
  StateKey key() const override;
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;
  Intervals intervals(const AnyState& state, std::int64_t n) const override;
  std::vector<std::vector<double>> replicates(const AnyState& state,
                                              std::int64_t n) const override;

 private:
  /// The states of the replicates, evaluated: [values][replicates].
  std::vector<std::vector<double>> values_of(const AnyState& state,
                                             const FlatResult& whole,
                                             std::int64_t n) const;
  AnyState replicate(const AnyState& whole, const ReplicateSums& sums,
                     std::int64_t index) const;

  ReplicateWeights weights_;
};

}  // namespace tally::internal::intervals
