#include "tally/metrics/score_kind.h"  // IWYU pragma: export
