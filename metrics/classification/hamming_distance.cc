#include "tally/metrics/classification/hamming_distance.h"

namespace tally {

at::Tensor BinaryHammingDistance::evaluate(const State& state) const {
  const auto value = [](const internal::ClassCounts& c) {
    return internal::divide(c.fp() + c.fn(), c.total, 0);
  };
  return internal::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassHammingDistance::evaluate(const State& state) const {
  const auto value =
      [zero = options().zero_division()](const internal::ClassCounts& c) {
        return 1 - internal::divide(c.tp, c.target, zero);
      };
  return internal::average_classes(state, options(), value);
}

at::Tensor MultilabelHammingDistance::evaluate(const State& state) const {
  const auto value = [](const internal::ClassCounts& c) {
    return internal::divide(c.fp() + c.fn(), c.total, 0);
  };
  return internal::average_labels(state, options(), value);
}

}  // namespace tally
