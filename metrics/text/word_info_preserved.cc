#include "tally/metrics/text/word_info_preserved.h"

namespace tally {

at::Tensor WordInfoPreserved::evaluate(const State& state) const {
  return internal::scalar_tensor(internal::text::information_preserved(state));
}

}  // namespace tally
