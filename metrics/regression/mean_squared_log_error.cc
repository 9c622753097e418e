#include "tally/metrics/regression/mean_squared_log_error.h"

#include <cmath>

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

namespace regression = internal::regression;

template class ErrorSums<SquaredLogError>;

double SquaredLogError::operator()(double preds, double target) const {
  // The difference of the logarithms.
  const double difference = std::log1p((preds - target) / (1 + target));
  return difference * difference;
}

at::Tensor SquaredLogError::operator()(const at::Tensor& preds,
                                       const at::Tensor& target) const {
  return preds.log1p().sub(target.log1p()).square();
}

at::Tensor SquaredLogError::valid(const at::Tensor& preds,
                                  const at::Tensor& target) const {
  return preds.le(-1).logical_or(target.le(-1)).logical_not();
}

void MeanSquaredLogErrorOptions::validate(const char* metric) const {
  regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanSquaredLogError::evaluate(const State& state) const {
  return options().squared()
             ? regression::mean_error(state, options().num_outputs())
             : regression::root_mean_error(state, options().num_outputs());
}

}  // namespace tally
