#include "tally/metrics/regression/states/row_scores.h"

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/regression/inputs/inputs.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

bool RowScoresState::has_nan() const {
  return std::isnan(sum.value()) ||
         (scores.defined() && internal::has_nan(scores.tensor()));
}

at::Tensor internal::regression::reduce_rows(const RowScoresState& state,
                                             RowReduction reduction) {
  if (reduction == RowReduction::kSum) return state.sum;
  if (reduction == RowReduction::kMean) return state.sum / state.total;
  return state.scores.defined() ? state.scores.tensor()
                                : fresh_zeros({0}, at::kDouble);
}

}  // namespace tally
