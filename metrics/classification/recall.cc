#include "tally/metrics/classification/recall.h"

namespace tally {

namespace classification = internal::classification;

namespace {

auto value_with(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.target, zero);
  };
}

}  // namespace

at::Tensor BinaryRecall::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassRecall::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         value_with(options().zero_division()));
}

at::Tensor MultilabelRecall::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        value_with(options().zero_division()));
}

}  // namespace tally
