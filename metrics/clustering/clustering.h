#pragma once

/// Every clustering metric.
#include "tally/metrics/clustering/calinski_harabasz_score.h"  // IWYU pragma: export
#include "tally/metrics/clustering/cluster_accuracy.h"  // IWYU pragma: export
#include "tally/metrics/clustering/davies_bouldin_score.h"  // IWYU pragma: export
#include "tally/metrics/clustering/dunn_index.h"  // IWYU pragma: export
#include "tally/metrics/clustering/fowlkes_mallows_index.h"  // IWYU pragma: export
#include "tally/metrics/clustering/homogeneity_completeness_v_measure.h"  // IWYU pragma: export
#include "tally/metrics/clustering/mutual_info_score.h"  // IWYU pragma: export
#include "tally/metrics/clustering/rand_score.h"         // IWYU pragma: export
#include "tally/metrics/clustering/silhouette_score.h"   // IWYU pragma: export
