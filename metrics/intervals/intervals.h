#pragma once

/// Confidence intervals of metrics, tests, and how many rows they need.
#include "tally/metrics/intervals/comparison.h"        // IWYU pragma: export
#include "tally/metrics/intervals/equivalence.h"       // IWYU pragma: export
#include "tally/metrics/intervals/interval.h"          // IWYU pragma: export
#include "tally/metrics/intervals/interval_metric.h"   // IWYU pragma: export
#include "tally/metrics/intervals/interval_options.h"  // IWYU pragma: export
#include "tally/metrics/intervals/model_comparison.h"  // IWYU pragma: export
#include "tally/metrics/intervals/model_comparison_options.h"  // IWYU pragma: export
#include "tally/metrics/intervals/multiple_tests.h"      // IWYU pragma: export
#include "tally/metrics/intervals/paired_tests.h"        // IWYU pragma: export
#include "tally/metrics/intervals/planning.h"            // IWYU pragma: export
#include "tally/metrics/intervals/proportions.h"         // IWYU pragma: export
#include "tally/metrics/intervals/replicates.h"          // IWYU pragma: export
#include "tally/metrics/intervals/unpaired_tests.h"      // IWYU pragma: export
#include "tally/metrics/resampling/replicate_weights.h"  // IWYU pragma: export
#include "tally/metrics/resampling/sample_ids.h"         // IWYU pragma: export
