#include "tally/metrics/regression/mean_pinball_loss.h"

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

template class ErrorSums<PinballError>;

at::Tensor PinballError::operator()(const at::Tensor& preds,
                                    const at::Tensor& target) const {
  const at::Tensor error = target.sub(preds);
  return error.clamp_min(0).mul(alpha).add(error.clamp_max(0), alpha - 1);
}

void MeanPinballLossOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(alpha_ >= 0 && alpha_ <= 1, metric,
                    ": expected alpha from 0 to 1, got ", alpha_);
  internal::regression::check_num_outputs(metric, num_outputs_);
}

at::Tensor MeanPinballLoss::evaluate(const State& state) const {
  return internal::regression::mean_error(state, options().num_outputs());
}

}  // namespace tally
