#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/resampling_engine.h"
#include "tally/metrics/intervals/row_sums.h"
#include "tally/metrics/sampling.h"

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

/// For metrics whose states are sums over rows: a state for each replicate, in
/// which rows have weights by their id.
class ReplicateEngine final : public ResamplingEngine {
 public:
  ReplicateEngine(std::unique_ptr<Metric> metric,
                  const IntervalOptions& options)
      : ResamplingEngine(std::move(metric), options),
        row_sums_(metric_->sampling().row_sums) {}

  AnyState identity() const override;
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;

 private:
  std::vector<std::vector<double>> replicates(const AnyState& state,
                                              std::int64_t n) const override;
  /// What each of the batch's rows adds to its state: float64 [rows, width].
  at::Tensor rows_of(const RowSums& reader, const AnyState& batch,
                     Inputs inputs, std::size_t count) const;

  std::function<at::Tensor(Inputs)> row_sums_;
};

}  // namespace tally::internal::intervals
