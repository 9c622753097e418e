#pragma once

#include <ATen/core/Tensor.h>

#include "tally/state/fields.h"

namespace tally {

/// Sums per confidence bin.
struct CalibrationBins {
  at::Tensor bins;  // float64 [3, n_bins]: weights, and times confidence, hits
  Number nans;      // positions with a NaN, under kPropagate

  void fields(Fields& f) { f("bins", bins)("nans", nans); }
};

}  // namespace tally
