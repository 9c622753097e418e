#include "tally/metrics/classification/negative_predictive_value.h"

namespace tally {
namespace {

auto value_with(double zero) {
  return [zero](const internal::ClassCounts& c) {
    return internal::divide(c.tn(), c.total - c.predicted, zero);
  };
}

}  // namespace

at::Tensor BinaryNegativePredictiveValue::evaluate(const State& state) const {
  return internal::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassNegativePredictiveValue::evaluate(
    const State& state) const {
  return internal::average_classes(state, options(),
                                   value_with(options().zero_division()));
}

at::Tensor MultilabelNegativePredictiveValue::evaluate(
    const State& state) const {
  return internal::average_labels(state, options(),
                                  value_with(options().zero_division()));
}

}  // namespace tally
