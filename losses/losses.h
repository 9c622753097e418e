#pragma once

/// Everything in tally::losses.
#include "tally/losses/metric_loss.h"  // IWYU pragma: export
