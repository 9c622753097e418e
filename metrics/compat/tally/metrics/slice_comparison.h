#include "tally/metrics/slices/slice_comparison.h"  // IWYU pragma: export
