#pragma once

/// Everything in tally::training.
#include "tally/training/gradient_averager.h"  // IWYU pragma: export
#include "tally/training/gradients.h"          // IWYU pragma: export
#include "tally/training/join.h"               // IWYU pragma: export
#include "tally/training/shard_sampler.h"      // IWYU pragma: export
#include "tally/training/stack.h"              // IWYU pragma: export
#include "tally/training/sync_batch_norm.h"    // IWYU pragma: export
#include "tally/training/throughput_timer.h"   // IWYU pragma: export
