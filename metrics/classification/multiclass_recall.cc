#include "tally/metrics/classification/multiclass_recall.h"

namespace tally {

at::Tensor MulticlassRecall::evaluate(const State& state) const {
  return internal::average_classes(
      state, options(), [](const internal::ClassCounts& counts) {
        return internal::Ratio{counts.tp, counts.target};
      });
}

}  // namespace tally
