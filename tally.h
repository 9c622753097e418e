#pragma once

/// All of Tally. For shorter compile times, include only the headers you use:
/// <tally/metrics/classification/...>, <tally/sinks/...>, <tally/sync/...>,
/// <tally/losses/...>, <tally/training/...>.
#include "tally/losses/losses.h"      // IWYU pragma: export
#include "tally/metrics/metrics.h"    // IWYU pragma: export
#include "tally/sinks/sinks.h"        // IWYU pragma: export
#include "tally/sync/sync.h"          // IWYU pragma: export
#include "tally/training/training.h"  // IWYU pragma: export
#include "tally/version.h"            // IWYU pragma: export
