#include "tally/metrics/classification/hamming_distance.h"

#include <cmath>

namespace tally {

namespace classification = internal::classification;

at::Tensor BinaryHammingDistance::evaluate(const State& state) const {
  const auto value = [](const classification::ClassCounts& c) {
    return classification::divide(c.fp() + c.fn(), c.total, 0);
  };
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassHammingDistance::evaluate(const State& state) const {
  const auto value =
      [zero = options().zero_division()](const classification::ClassCounts& c) {
        if (c.target > 0) return 1 - c.tp / c.target;
        return c.predicted > 0 && !std::isnan(zero) ? 1 : zero;
      };
  return classification::average_classes(state, options(), value);
}

at::Tensor MultilabelHammingDistance::evaluate(const State& state) const {
  const auto value = [](const classification::ClassCounts& c) {
    return classification::divide(c.fp() + c.fn(), c.total, 0);
  };
  return classification::average_labels(state, options(), value);
}

}  // namespace tally
