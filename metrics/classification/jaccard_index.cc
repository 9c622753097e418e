#include "tally/metrics/classification/jaccard_index.h"

namespace tally {
namespace {

auto value_with(double zero) {
  return [zero](const internal::ClassCounts& c) {
    return internal::divide(c.tp, c.predicted + c.fn(), zero);
  };
}

}  // namespace

at::Tensor BinaryJaccardIndex::evaluate(const State& state) const {
  return internal::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassJaccardIndex::evaluate(const State& state) const {
  return internal::average_classes(state, options(),
                                   value_with(options().zero_division()));
}

at::Tensor MultilabelJaccardIndex::evaluate(const State& state) const {
  return internal::average_labels(state, options(),
                                  value_with(options().zero_division()));
}

}  // namespace tally
