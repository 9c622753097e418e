#include "tally/metrics/regression/minkowski_distance.h"

#include <cmath>

#include "tally/metrics/regression/states/error_sums_impl.h"

namespace tally {

template class ErrorSums<ErrorPower>;

double ErrorPower::operator()(double preds, double target) const {
  const double error = std::abs(preds - target);
  if (!multiplies()) return std::pow(error, p);
  double power = error;
  for (int i = 1; i < p; ++i) power *= error;
  return power;
}

at::Tensor ErrorPower::operator()(const at::Tensor& preds,
                                  const at::Tensor& target) const {
  return preds.sub(target).abs().pow(p);
}

void MinkowskiDistanceOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(p_) && p_ >= 1, metric,
                    ": expected p of at least 1, got ", p_);
}

at::Tensor MinkowskiDistance::evaluate(const State& state) const {
  if (state.weight.value() == 0) return state.sum / state.weight;  // NaN
  const double exponent = 1 / options().p();
  if (state.sum.is_plain()) {
    return Number(std::pow(state.sum.value(), exponent));
  }
  const at::Tensor sum = state.sum.tensor();
  const at::Tensor zero = sum.eq(0);
  return sum.masked_fill(zero, 1).pow(exponent).masked_fill(zero, 0);
}

}  // namespace tally
