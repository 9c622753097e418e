#pragma once

/// How well classes are told apart.
#include "tally/metrics/classification/binary_auroc.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_accuracy.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_auroc.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_confusion_matrix.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_f1_score.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_log_loss.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_precision.h"  // IWYU pragma: export
#include "tally/metrics/classification/multiclass_recall.h"  // IWYU pragma: export
