#pragma once

/// Metrics of features that networks extract: of their distributions, and of
/// pairs.
#include "tally/metrics/features/bert_score.h"         // IWYU pragma: export
#include "tally/metrics/features/clip_score.h"         // IWYU pragma: export
#include "tally/metrics/features/feature_extractor.h"  // IWYU pragma: export
#include "tally/metrics/features/frechet_inception_distance.h"  // IWYU pragma: export
#include "tally/metrics/features/improved_precision_recall.h"  // IWYU pragma: export
#include "tally/metrics/features/inception_score.h"  // IWYU pragma: export
#include "tally/metrics/features/kernel_inception_distance.h"  // IWYU pragma: export
#include "tally/metrics/features/learned_perceptual_image_patch_similarity.h"  // IWYU pragma: export
#include "tally/metrics/features/memorization_informed_frechet_inception_distance.h"  // IWYU pragma: export
