#include "tally/metrics/regression/mean_absolute_error.h"

#include <ATen/ops/where.h>

#include <cmath>

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {
namespace {

const double kLog2 = std::log(2.0);

}  // namespace

template class ErrorSums<AbsoluteError>;
template class ErrorSums<LogCosh>;

at::Tensor AbsoluteError::operator()(const at::Tensor& preds,
                                     const at::Tensor& target) const {
  return preds.sub(target).abs();
}

// Of small errors, log(cosh(x)) = log1p(2 sinh(x / 2)^2) keeps the digits; that
// of large ones would overflow.
double LogCosh::operator()(double preds, double target) const {
  const double x = std::abs(preds - target);
  if (x < 1) {
    const double sinh = std::sinh(x / 2);
    return std::log1p(2 * sinh * sinh);
  }
  return x + std::log1p(std::exp(-2 * x)) - kLog2;
}

at::Tensor LogCosh::operator()(const at::Tensor& preds,
                               const at::Tensor& target) const {
  const at::Tensor x = preds.sub(target).abs();
  return at::where(x.lt(1),
                   x.clamp_max(1).div(2).sinh().square().mul(2).log1p(),
                   x.add(x.mul(-2).exp().log1p()).sub(kLog2));
}

at::Tensor MeanAbsoluteError::evaluate(const State& state) const {
  return internal::regression::mean_error(state, options().num_outputs());
}

at::Tensor LogCoshError::evaluate(const State& state) const {
  return internal::regression::mean_error(state, options().num_outputs());
}

}  // namespace tally
