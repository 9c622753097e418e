#include "tally/metrics/classification/accuracy.h"

namespace tally {

at::Tensor BinaryAccuracy::evaluate(const State& state) const {
  const auto value = [](const internal::ClassCounts& c) {
    return internal::divide(c.tp + c.tn(), c.total, 0);
  };
  return internal::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassAccuracy::evaluate(const State& state) const {
  const auto value =
      [zero = options().zero_division()](const internal::ClassCounts& c) {
        return internal::divide(c.tp, c.target, zero);
      };
  return internal::average_classes(state, options(), value);
}

at::Tensor MultilabelAccuracy::evaluate(const State& state) const {
  const auto value = [](const internal::ClassCounts& c) {
    return internal::divide(c.tp + c.tn(), c.total, 0);
  };
  return internal::average_labels(state, options(), value);
}

}  // namespace tally
