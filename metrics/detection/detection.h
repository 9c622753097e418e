#pragma once

/// Metrics of object detection.
#include "tally/metrics/detection/box_overlaps.h"  // IWYU pragma: export
#include "tally/metrics/detection/complete_intersection_over_union.h"  // IWYU pragma: export
#include "tally/metrics/detection/detection_confusion_matrix.h"  // IWYU pragma: export
#include "tally/metrics/detection/detection_rates.h"  // IWYU pragma: export
#include "tally/metrics/detection/distance_intersection_over_union.h"  // IWYU pragma: export
#include "tally/metrics/detection/generalized_intersection_over_union.h"  // IWYU pragma: export
#include "tally/metrics/detection/inputs/image_objects.h"  // IWYU pragma: export
#include "tally/metrics/detection/inputs/run_length_mask.h"  // IWYU pragma: export
#include "tally/metrics/detection/intersection_over_union.h"  // IWYU pragma: export
#include "tally/metrics/detection/lvis_average_precision.h"  // IWYU pragma: export
#include "tally/metrics/detection/mean_average_precision.h"  // IWYU pragma: export
#include "tally/metrics/detection/mean_average_recall.h"  // IWYU pragma: export
#include "tally/metrics/detection/modified_panoptic_quality.h"  // IWYU pragma: export
#include "tally/metrics/detection/panoptic_quality.h"  // IWYU pragma: export
#include "tally/metrics/detection/pascal_voc_average_precision.h"  // IWYU pragma: export
