#include "tally/metrics/text/word_info_lost.h"

namespace tally {

at::Tensor WordInfoLost::evaluate(const State& state) const {
  return internal::scalar_tensor(1 -
                                 internal::text::information_preserved(state));
}

}  // namespace tally
