#pragma once

/// How far predictions of numbers are from their targets.
#include "tally/metrics/regression/mean_squared_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/pearson_corr_coef.h"   // IWYU pragma: export
