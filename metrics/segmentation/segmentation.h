#pragma once

/// How well images and volumes are cut into classes.
#include "tally/metrics/segmentation/average_symmetric_surface_distance.h"  // IWYU pragma: export
#include "tally/metrics/segmentation/boundary_f1.h"  // IWYU pragma: export
#include "tally/metrics/segmentation/dice_score.h"   // IWYU pragma: export
#include "tally/metrics/segmentation/generalized_dice_score.h"  // IWYU pragma: export
#include "tally/metrics/segmentation/hausdorff_distance.h"  // IWYU pragma: export
#include "tally/metrics/segmentation/mean_iou.h"  // IWYU pragma: export
#include "tally/metrics/segmentation/normalized_surface_distance.h"  // IWYU pragma: export
