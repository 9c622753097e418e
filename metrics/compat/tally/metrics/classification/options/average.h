#include "tally/metrics/average.h"  // IWYU pragma: export
