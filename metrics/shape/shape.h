#pragma once

/// How alike shapes are.
#include "tally/metrics/shape/procrustes_disparity.h"  // IWYU pragma: export
