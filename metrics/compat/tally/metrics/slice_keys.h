#include "tally/metrics/slices/slice_keys.h"  // IWYU pragma: export
