#pragma once

/// Classification metrics.
#include "tally/metrics/classification/accuracy.h"     // IWYU pragma: export
#include "tally/metrics/classification/area_bounds.h"  // IWYU pragma: export
#include "tally/metrics/classification/auroc.h"        // IWYU pragma: export
#include "tally/metrics/classification/average_precision.h"  // IWYU pragma: export
#include "tally/metrics/classification/balanced_accuracy.h"  // IWYU pragma: export
#include "tally/metrics/classification/brier_score.h"  // IWYU pragma: export
#include "tally/metrics/classification/calibration_error.h"  // IWYU pragma: export
#include "tally/metrics/classification/calibration_slope.h"  // IWYU pragma: export
#include "tally/metrics/classification/cohen_kappa.h"  // IWYU pragma: export
#include "tally/metrics/classification/confusion_matrix.h"  // IWYU pragma: export
#include "tally/metrics/classification/equal_error_rate.h"  // IWYU pragma: export
#include "tally/metrics/classification/exact_match.h"  // IWYU pragma: export
#include "tally/metrics/classification/f_score.h"      // IWYU pragma: export
#include "tally/metrics/classification/fixed_precision_recall.h"  // IWYU pragma: export
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"  // IWYU pragma: export
#include "tally/metrics/classification/group_fairness.h"  // IWYU pragma: export
#include "tally/metrics/classification/hamming_distance.h"  // IWYU pragma: export
#include "tally/metrics/classification/hinge_loss.h"     // IWYU pragma: export
#include "tally/metrics/classification/jaccard_index.h"  // IWYU pragma: export
#include "tally/metrics/classification/log_auc.h"        // IWYU pragma: export
#include "tally/metrics/classification/log_loss.h"       // IWYU pragma: export
#include "tally/metrics/classification/matthews_corr_coef.h"  // IWYU pragma: export
#include "tally/metrics/classification/multilabel_ranking.h"  // IWYU pragma: export
#include "tally/metrics/classification/negative_predictive_value.h"  // IWYU pragma: export
#include "tally/metrics/classification/optimal_threshold.h"  // IWYU pragma: export
#include "tally/metrics/classification/precision.h"  // IWYU pragma: export
#include "tally/metrics/classification/precision_recall_curve.h"  // IWYU pragma: export
#include "tally/metrics/classification/recall.h"       // IWYU pragma: export
#include "tally/metrics/classification/roc.h"          // IWYU pragma: export
#include "tally/metrics/classification/specificity.h"  // IWYU pragma: export
#include "tally/metrics/classification/spiegelhalter_z.h"  // IWYU pragma: export
#include "tally/metrics/classification/stat_scores.h"  // IWYU pragma: export
