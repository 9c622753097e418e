#include "tally/metrics/regression/mean_squared_error.h"

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

namespace regression = internal::regression;

template class ErrorSums<SquaredError>;

at::Tensor SquaredError::operator()(const at::Tensor& preds,
                                    const at::Tensor& target) const {
  return preds.sub(target).square();
}

void MeanSquaredErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanSquaredError::evaluate(const State& state) const {
  return options().squared()
             ? regression::mean_error(state, options().num_outputs())
             : regression::root_mean_error(state, options().num_outputs());
}

}  // namespace tally
