#pragma once

#include "tally/metrics/metric_spec.h"  // IWYU pragma: export
