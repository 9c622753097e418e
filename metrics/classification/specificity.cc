#include "tally/metrics/classification/specificity.h"

namespace tally {

namespace classification = internal::classification;

namespace {

auto value_with(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tn(), c.total - c.target, zero);
  };
}

}  // namespace

at::Tensor BinarySpecificity::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassSpecificity::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         value_with(options().zero_division()));
}

at::Tensor MultilabelSpecificity::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        value_with(options().zero_division()));
}

}  // namespace tally
