#include "tally/metrics/classification/multiclass_f1_score.h"

namespace tally {

at::Tensor MulticlassF1Score::evaluate(const State& state) const {
  return internal::average_classes(
      state, options(), [](const internal::ClassCounts& counts) {
        return internal::Ratio{2 * counts.tp, counts.predicted + counts.target};
      });
}

}  // namespace tally
