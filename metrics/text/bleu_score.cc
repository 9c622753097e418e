#include "tally/metrics/text/bleu_score.h"

namespace tally {

at::Tensor BLEUScore::evaluate(const State& state) const {
  const auto smoothing =
      options().smooth() ? BleuSmoothing::kAddK : BleuSmoothing::kNone;
  return internal::scalar_tensor(internal::text::bleu(
      state, {options().n_gram(), smoothing, /*smooth_value=*/1,
              /*effective_order=*/false, options().weights()}));
}

}  // namespace tally
