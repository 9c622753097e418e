#include "tally/metrics/text/edit_distance.h"

namespace tally {

at::Tensor EditDistance::evaluate(const State& state) const {
  return internal::text::reduce_distances(state, options().reduction());
}

}  // namespace tally
