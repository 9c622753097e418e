#pragma once

/// Metrics composed of other metrics.
#include "tally/metrics/wrappers/boot_strapper.h"        // IWYU pragma: export
#include "tally/metrics/wrappers/classwise_wrapper.h"    // IWYU pragma: export
#include "tally/metrics/wrappers/input_transformer.h"    // IWYU pragma: export
#include "tally/metrics/wrappers/metric_tracker.h"       // IWYU pragma: export
#include "tally/metrics/wrappers/min_max_wrapper.h"      // IWYU pragma: export
#include "tally/metrics/wrappers/multioutput_wrapper.h"  // IWYU pragma: export
#include "tally/metrics/wrappers/multitask_wrapper.h"    // IWYU pragma: export
#include "tally/metrics/wrappers/running.h"              // IWYU pragma: export
