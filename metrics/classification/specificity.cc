#include "tally/metrics/classification/specificity.h"

namespace tally {
namespace {

auto value_with(double zero) {
  return [zero](const internal::ClassCounts& c) {
    return internal::divide(c.tn(), c.total - c.target, zero);
  };
}

}  // namespace

at::Tensor BinarySpecificity::evaluate(const State& state) const {
  return internal::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassSpecificity::evaluate(const State& state) const {
  return internal::average_classes(state, options(),
                                   value_with(options().zero_division()));
}

at::Tensor MultilabelSpecificity::evaluate(const State& state) const {
  return internal::average_labels(state, options(),
                                  value_with(options().zero_division()));
}

}  // namespace tally
