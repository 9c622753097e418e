#pragma once

/// How alike shapes are.
#include "tally/metrics/shape/lip_vertex_error.h"      // IWYU pragma: export
#include "tally/metrics/shape/procrustes_disparity.h"  // IWYU pragma: export
