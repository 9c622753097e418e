#include "tally/metrics/classification/negative_predictive_value.h"

namespace tally {

namespace classification = internal::classification;

namespace {

auto value_with(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tn(), c.total - c.predicted, zero);
  };
}

}  // namespace

at::Tensor BinaryNegativePredictiveValue::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassNegativePredictiveValue::evaluate(
    const State& state) const {
  return classification::average_classes(state, options(),
                                         value_with(options().zero_division()));
}

at::Tensor MultilabelNegativePredictiveValue::evaluate(
    const State& state) const {
  return classification::average_labels(state, options(),
                                        value_with(options().zero_division()));
}

}  // namespace tally
