#include "tally/metrics/text/word_error_rate.h"

namespace tally {

at::Tensor WordErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(internal::text::error_rate(state));
}

}  // namespace tally
