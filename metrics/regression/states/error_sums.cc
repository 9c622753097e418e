#include "tally/metrics/regression/states/error_sums.h"

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/regression/inputs/inputs.h"

namespace tally {

bool ErrorState::has_nan() const {
  return std::isnan(sum.value()) || std::isnan(weight.value()) ||
         (output_sums.defined() && internal::has_nan(output_sums));
}

at::Tensor internal::regression::mean_error(const ErrorState& state,
                                            std::int64_t num_outputs) {
  if (num_outputs == 1) return state.sum / state.weight;
  if (!state.output_sums.defined()) return undefined_outputs(num_outputs);
  return state.output_sums.div(state.weight.tensor());
}

at::Tensor internal::regression::root_mean_error(const ErrorState& state,
                                                 std::int64_t num_outputs) {
  if (num_outputs == 1) {
    const Number mean = state.sum / state.weight;
    return mean.is_plain() ? sqrt(mean) : Number(root(mean.tensor()));
  }
  return root(mean_error(state, num_outputs));
}

}  // namespace tally
