#include "tally/metrics/classification/accuracy.h"

namespace tally {

namespace classification = internal::classification;

at::Tensor BinaryAccuracy::evaluate(const State& state) const {
  const auto value = [](const classification::ClassCounts& c) {
    return classification::divide(c.tp + c.tn(), c.total, 0);
  };
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassAccuracy::evaluate(const State& state) const {
  const auto value =
      [zero = options().zero_division()](const classification::ClassCounts& c) {
        return classification::divide(c.tp, c.target, zero);
      };
  return classification::average_classes(state, options(), value);
}

at::Tensor MultilabelAccuracy::evaluate(const State& state) const {
  const auto value = [](const classification::ClassCounts& c) {
    return classification::divide(c.tp + c.tn(), c.total, 0);
  };
  return classification::average_labels(state, options(), value);
}

}  // namespace tally
