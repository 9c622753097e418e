#pragma once

/// Metrics of images and videos: compared with a target, or by themselves.
#include "tally/metrics/image/error_relative_global_dimensionless_synthesis.h"  // IWYU pragma: export
#include "tally/metrics/image/image_gradients.h"  // IWYU pragma: export
#include "tally/metrics/image/multi_scale_structural_similarity_index_measure.h"  // IWYU pragma: export
#include "tally/metrics/image/peak_signal_noise_ratio.h"  // IWYU pragma: export
#include "tally/metrics/image/peak_signal_noise_ratio_with_blocked_effect.h"  // IWYU pragma: export
#include "tally/metrics/image/quality_with_no_reference.h"  // IWYU pragma: export
#include "tally/metrics/image/relative_average_spectral_error.h"  // IWYU pragma: export
#include "tally/metrics/image/root_mean_squared_error_using_sliding_window.h"  // IWYU pragma: export
#include "tally/metrics/image/spatial_correlation_coefficient.h"  // IWYU pragma: export
#include "tally/metrics/image/spatial_distortion_index.h"  // IWYU pragma: export
#include "tally/metrics/image/spectral_angle_mapper.h"  // IWYU pragma: export
#include "tally/metrics/image/spectral_distortion_index.h"  // IWYU pragma: export
#include "tally/metrics/image/structural_similarity_index_measure.h"  // IWYU pragma: export
#include "tally/metrics/image/total_variation.h"  // IWYU pragma: export
#include "tally/metrics/image/universal_image_quality_index.h"  // IWYU pragma: export
#include "tally/metrics/image/video_peak_signal_noise_ratio.h"  // IWYU pragma: export
#include "tally/metrics/image/video_structural_similarity_index_measure.h"  // IWYU pragma: export
#include "tally/metrics/image/visual_information_fidelity.h"  // IWYU pragma: export
