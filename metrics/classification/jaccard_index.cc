#include "tally/metrics/classification/jaccard_index.h"

namespace tally {

namespace classification = internal::classification;

namespace {

auto value_with(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.predicted + c.fn(), zero);
  };
}

}  // namespace

at::Tensor BinaryJaccardIndex::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value_with(options().zero_division()));
}

at::Tensor MulticlassJaccardIndex::evaluate(const State& state) const {
  const auto value = value_with(options().zero_division());
  if (options().average() == Average::kMicro) {
    // A wrong prediction is in the union of its target's class already.
    return classification::rows_of(state, options())
        .values([&](const classification::CountsRow& row) {
          return row.micro(value, options().ignore_index());
        });
  }
  return classification::average_classes(state, options(), value);
}

at::Tensor MultilabelJaccardIndex::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        value_with(options().zero_division()));
}

}  // namespace tally
