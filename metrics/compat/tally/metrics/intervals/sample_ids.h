#include "tally/metrics/resampling/sample_ids.h"  // IWYU pragma: export
