#include "tally/metrics/classification/multiclass_precision.h"

namespace tally {

at::Tensor MulticlassPrecision::evaluate(const State& state) const {
  return internal::average_classes(
      state, options(), [](const internal::ClassCounts& counts) {
        return internal::Ratio{counts.tp, counts.predicted};
      });
}

}  // namespace tally
