#include "tally/metrics/classification/precision.h"

namespace tally {

namespace classification = internal::classification;

namespace {

auto value_with(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.predicted, zero);
  };
}

}  // namespace

at::Tensor BinaryPrecision::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassPrecision::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         value_with(options().zero_division()));
}

at::Tensor MultilabelPrecision::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        value_with(options().zero_division()));
}

}  // namespace tally
