#include "tally/metrics/regression/max_error.h"

#include <cmath>

#include "tally/metrics/plain_values.h"
#include "tally/metrics/regression/inputs/inputs.h"

namespace tally {

namespace regression = internal::regression;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A NaN is found by the sum: it would lose each comparison.
template <class T>
double largest_error(const T* preds, const T* target, std::int64_t count) {
  double largest = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double error = std::abs(static_cast<double>(preds[i]) -
                                  static_cast<double>(target[i]));
    largest = error > largest ? error : largest;
    sum += error;
  }
  return std::isnan(sum) ? kNaN : largest;
}

}  // namespace

bool LargestError::State::has_nan() const { return std::isnan(max.value()); }

LargestError::State LargestError::observe(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  regression::check_outputs(preds, target, /*num_outputs=*/1);
  const at::Tensor no_weight;
  return regression::observe_by_policy(
      {preds, target, no_weight}, /*num_outputs=*/1, nan_policy_,
      [](const regression::Samples& samples) {
        State state;
        const std::int64_t count = samples.preds.numel();
        if (count == 0) return state;
        if (samples.are_plain()) {
          state.max =
              internal::visit_values(samples.preds, samples.target,
                                     [count](const auto* p, const auto* t) {
                                       return largest_error(p, t, count);
                                     });
        } else {
          state.max = Number(samples.preds.detach()
                                 .to(at::kDouble)
                                 .sub(samples.target.detach().to(at::kDouble))
                                 .abs()
                                 .max());
        }
        return state;
      });
}

at::Tensor MaxError::evaluate(const State& state) const {
  if (state.max.is_plain()) {
    return Number(state.max.value() < 0 ? kNaN : state.max.value());
  }
  const at::Tensor max = state.max.tensor();
  return max.masked_fill(max.lt(0), kNaN);
}

}  // namespace tally
