#pragma once

/// How well classes are told apart.
#include "tally/metrics/classification/auroc.h"  // IWYU pragma: export
#include "tally/metrics/classification/average_precision.h"  // IWYU pragma: export
#include "tally/metrics/classification/equal_error_rate.h"  // IWYU pragma: export
#include "tally/metrics/classification/fixed_precision_recall.h"  // IWYU pragma: export
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"  // IWYU pragma: export
#include "tally/metrics/classification/log_auc.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_accuracy.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_confusion_matrix.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_f1_score.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_log_loss.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_precision.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_recall.h"  // IWYU pragma: export
#include "tally/metrics/classification/multilabel_ranking.h"  // IWYU pragma: export
#include "tally/metrics/classification/precision_recall_curve.h"  // IWYU pragma: export
#include "tally/metrics/classification/roc.h"  // IWYU pragma: export
