#include "tally/metrics/features/states/logit_samples.h"

#include "tally/metrics/features/inputs/inputs.h"
#include "tally/metrics/features/states/feature_samples.h"

namespace tally {

LogitSamples::State LogitSamples::observe(const at::Tensor& logits,
                                          const at::Tensor& ids) const {
  const auto samples =
      internal::features::checked_samples("logits", logits, ids, options_);
  return {internal::features::kept_features(samples),
          internal::features::kept_ids(samples)};
}

}  // namespace tally
