#include "tally/metrics/text/token_edit_distance.h"

namespace tally {

at::Tensor TokenEditDistance::evaluate(const State& state) const {
  return internal::text::reduce_distances(state, options().reduction());
}

}  // namespace tally
