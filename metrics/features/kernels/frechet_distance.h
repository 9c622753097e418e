#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/features/states/feature_moments.h"

namespace tally::internal::features {

/// The squared Frechet distance between normal distributions of these moments,
/// 0-dim float64, at least 0, with its gradient if they have one; NaN for fewer
/// than two rows of either, and where anything is not finite.
at::Tensor frechet_distance(const Moments& a, const Moments& b);

}  // namespace tally::internal::features
