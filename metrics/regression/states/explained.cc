#include "tally/metrics/regression/states/explained.h"

#include <limits>

#include "tally/metrics/regression/inputs/inputs.h"

namespace tally::internal::regression {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double explained_fraction(double unexplained, double all) {
  if (all == 0) return unexplained == 0 ? 1 : unexplained > 0 ? 0 : kNaN;
  return 1 - unexplained / all;
}

at::Tensor explained_fraction(const at::Tensor& unexplained,
                              const at::Tensor& all) {
  const at::Tensor nothing = all.eq(0);
  return unexplained.div(all.masked_fill(nothing, 1))
      .neg()
      .add(1)
      .masked_fill(nothing.logical_and(unexplained.gt(0)), 0);
}

at::Tensor explained_fraction(const Number& unexplained, const Number& all,
                              std::int64_t samples) {
  if (unexplained.is_plain() && all.is_plain()) {
    return Number(samples < 2
                      ? kNaN
                      : explained_fraction(unexplained.value(), all.value()));
  }
  return undefined_unless(
      samples >= 2, explained_fraction(unexplained.tensor(), all.tensor()));
}

at::Tensor average_outputs(const at::Tensor& scores, const at::Tensor& weights,
                           MultiOutput multioutput) {
  if (multioutput == MultiOutput::kRawValues) return scores;
  if (multioutput == MultiOutput::kUniformAverage) return scores.mean();
  const at::Tensor sum = weights.sum();
  const at::Tensor equal = sum.eq(0);
  return scores.mul(weights.masked_fill(equal, 1))
      .sum()
      .div(sum.masked_fill(equal, static_cast<double>(scores.numel())));
}

}  // namespace tally::internal::regression
