#pragma once

/// Sum, mean, extremes and concatenation of values.
#include "tally/metrics/aggregation/aggregation_options.h"  // IWYU pragma: export
#include "tally/metrics/aggregation/cat_metric.h"       // IWYU pragma: export
#include "tally/metrics/aggregation/mean_metric.h"      // IWYU pragma: export
#include "tally/metrics/aggregation/min_max_metric.h"   // IWYU pragma: export
#include "tally/metrics/aggregation/running_metrics.h"  // IWYU pragma: export
#include "tally/metrics/aggregation/sum_metric.h"       // IWYU pragma: export
#include "tally/metrics/aggregation/throughput.h"       // IWYU pragma: export
