#include "tally/metrics/regression/mean_squared_error.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"
#include "tally/metrics/regression/inputs.h"

namespace tally {
namespace {

template <class T>
double squared_difference(T a, T b) {
  const double difference = static_cast<double>(a) - static_cast<double>(b);
  return difference * difference;
}

double plain_sum(const at::Tensor& preds, const at::Tensor& target) {
  const std::int64_t count = preds.numel();
  return internal::visit_values(
      preds, target, [count](const auto* p, const auto* t) {
        return internal::sum_terms(count, [=](std::int64_t i) {
          return squared_difference(p[i], t[i]);
        });
      });
}

at::Tensor plain_output_sums(const at::Tensor& preds,
                             const at::Tensor& target) {
  const std::int64_t rows = preds.size(0);
  const std::int64_t outputs = preds.size(1);
  at::Tensor sums = at::zeros({outputs}, at::kDouble);
  double* sum = sums.mutable_data_ptr<double>();
  internal::visit_values(preds, target, [=](const auto* p, const auto* t) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < outputs; ++i) {
        sum[i] += squared_difference(*p++, *t++);
      }
    }
  });
  return sums;
}

// A root's gradient at 0 is infinite, and that of the metric would be NaN.
at::Tensor root(const at::Tensor& mean) {
  const at::Tensor zero = mean.eq(0);
  return mean.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

bool has_nan(const SquaredError::State& state) {
  return std::isnan(state.sum.value()) ||
         (state.output_sums.defined() && internal::has_nan(state.output_sums));
}

}  // namespace

void MeanSquaredErrorOptions::validate(const char* metric) const {
  internal::check_num_outputs(metric, num_outputs_);
}

SquaredError::State SquaredError::observe(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  internal::check_outputs(preds, target, num_outputs_);
  if (preds.is_cpu() || nan_policy_ == NanPolicy::kPropagate) {
    State state = sums(preds, target);
    // A NaN in the inputs would have come through.
    if (nan_policy_ == NanPolicy::kPropagate || !has_nan(state)) return state;
  }
  const auto [kept_preds, kept_target] =
      internal::handle_nan(preds, target, num_outputs_, nan_policy_);
  return sums(kept_preds, kept_target);
}

SquaredError::State SquaredError::sums(const at::Tensor& preds,
                                       const at::Tensor& target) const {
  State state;
  state.total = preds.numel() / num_outputs_;
  const bool plain = internal::is_plain(preds) && internal::is_plain(target);
  if (plain && num_outputs_ == 1) {
    state.sum = plain_sum(preds, target);
  } else if (plain) {
    state.output_sums = plain_output_sums(preds, target);
  } else {
    const at::Tensor squares =
        preds.to(at::kDouble).sub(target.to(at::kDouble)).square();
    if (num_outputs_ == 1) {
      state.sum = Number(squares.sum());
    } else {
      state.output_sums = squares.sum(0);
    }
  }
  return state;
}

at::Tensor MeanSquaredError::evaluate(const State& state) const {
  if (options().num_outputs() == 1) {
    const Number mean = state.sum / state.total;
    if (options().squared()) return mean;
    return mean.is_plain() ? sqrt(mean) : root(mean.tensor());
  }
  if (!state.output_sums.defined()) {
    return at::full({options().num_outputs()},
                    std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  }
  const at::Tensor mean = state.output_sums.div(state.total);
  return options().squared() ? mean : root(mean);
}

}  // namespace tally
