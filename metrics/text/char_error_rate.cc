#include "tally/metrics/text/char_error_rate.h"

namespace tally {

at::Tensor CharErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(internal::text::error_rate(state));
}

}  // namespace tally
