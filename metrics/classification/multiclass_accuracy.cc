#include "tally/metrics/classification/multiclass_accuracy.h"

namespace tally {

at::Tensor MulticlassAccuracy::evaluate(const State& state) const {
  return internal::average_classes(
      state, options(), [](const internal::ClassCounts& counts) {
        return internal::Ratio{counts.tp, counts.target};
      });
}

}  // namespace tally
