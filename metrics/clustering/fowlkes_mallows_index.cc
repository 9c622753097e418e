#include "tally/metrics/clustering/fowlkes_mallows_index.h"

#include <cmath>
#include <limits>

#include "tally/metrics/clustering/kernels/pairs_of_samples.h"
#include "tally/metrics/tables/contingency.h"

namespace tally {

at::Tensor FowlkesMallowsIndex::evaluate(const State& state) const {
  const auto table = internal::tables::contingency_of(state);
  if (table.total == 0) {
    return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
  }
  const internal::clustering::PairsOfSamples pairs(table);
  if (pairs.both == 0) return internal::scalar_tensor(0.0);
  return internal::scalar_tensor(
      std::sqrt(pairs.both / (pairs.both + pairs.preds_only)) *
      std::sqrt(pairs.both / (pairs.both + pairs.target_only)));
}

}  // namespace tally
