#include "tally/metrics/features/frechet_inception_distance.h"

#include "tally/metrics/features/kernels/frechet_distance.h"

namespace tally {

at::Tensor FrechetInceptionDistance::evaluate(const State& state) const {
  return internal::features::frechet_distance(state.real, state.generated);
}

}  // namespace tally
