#include "tally/metrics/slices/sliced_metric.h"  // IWYU pragma: export
