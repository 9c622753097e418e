#pragma once

/// Regression metrics.
#include "tally/metrics/regression/continuous_ranked_probability_score.h"  // IWYU pragma: export
#include "tally/metrics/regression/cosine_similarity.h"  // IWYU pragma: export
#include "tally/metrics/regression/critical_success_index.h"  // IWYU pragma: export
#include "tally/metrics/regression/divergences.h"  // IWYU pragma: export
#include "tally/metrics/regression/kendall_rank_corr_coef.h"  // IWYU pragma: export
#include "tally/metrics/regression/max_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/mean_absolute_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/mean_pinball_loss.h"   // IWYU pragma: export
#include "tally/metrics/regression/mean_squared_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/mean_squared_log_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/minkowski_distance.h"  // IWYU pragma: export
#include "tally/metrics/regression/normalized_root_mean_squared_error.h"  // IWYU pragma: export
#include "tally/metrics/regression/pearson_corr_coef.h"   // IWYU pragma: export
#include "tally/metrics/regression/percentage_errors.h"   // IWYU pragma: export
#include "tally/metrics/regression/quantile_scores.h"     // IWYU pragma: export
#include "tally/metrics/regression/r2_score.h"            // IWYU pragma: export
#include "tally/metrics/regression/scaled_errors.h"       // IWYU pragma: export
#include "tally/metrics/regression/spearman_corr_coef.h"  // IWYU pragma: export
#include "tally/metrics/regression/tweedie_deviance.h"    // IWYU pragma: export
