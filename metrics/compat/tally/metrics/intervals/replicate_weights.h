#include "tally/metrics/resampling/replicate_weights.h"  // IWYU pragma: export
