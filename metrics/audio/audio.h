#pragma once

/// Estimated signals against their references.
#include "tally/metrics/audio/complex_scale_invariant_signal_noise_ratio.h"  // IWYU pragma: export
#include "tally/metrics/audio/permutation_invariant_training.h"  // IWYU pragma: export
#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"  // IWYU pragma: export
#include "tally/metrics/audio/scale_invariant_signal_noise_ratio.h"  // IWYU pragma: export
#include "tally/metrics/audio/short_time_objective_intelligibility.h"  // IWYU pragma: export
#include "tally/metrics/audio/signal_distortion_ratio.h"  // IWYU pragma: export
#include "tally/metrics/audio/signal_noise_ratio.h"       // IWYU pragma: export
#include "tally/metrics/audio/source_aggregated_signal_distortion_ratio.h"  // IWYU pragma: export
