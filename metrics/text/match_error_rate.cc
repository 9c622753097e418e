#include "tally/metrics/text/match_error_rate.h"

namespace tally {

at::Tensor MatchErrorRate::evaluate(const State& state) const {
  return internal::scalar_tensor(internal::text::match_error_rate(state));
}

}  // namespace tally
