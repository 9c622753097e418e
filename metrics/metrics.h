#pragma once

/// All metrics and collections.
#include "tally/metrics/aggregation/aggregation.h"        // IWYU pragma: export
#include "tally/metrics/audio/audio.h"                    // IWYU pragma: export
#include "tally/metrics/classification/classification.h"  // IWYU pragma: export
#include "tally/metrics/clustering/clustering.h"          // IWYU pragma: export
#include "tally/metrics/collection.h"                     // IWYU pragma: export
#include "tally/metrics/compositional.h"                  // IWYU pragma: export
#include "tally/metrics/detection/detection.h"            // IWYU pragma: export
#include "tally/metrics/features/features.h"              // IWYU pragma: export
#include "tally/metrics/image/image.h"                    // IWYU pragma: export
#include "tally/metrics/intervals/intervals.h"            // IWYU pragma: export
#include "tally/metrics/keys.h"                           // IWYU pragma: export
#include "tally/metrics/metric.h"                         // IWYU pragma: export
#include "tally/metrics/nominal/nominal.h"                // IWYU pragma: export
#include "tally/metrics/pairwise/pairwise.h"              // IWYU pragma: export
#include "tally/metrics/portable/any_metric.h"            // IWYU pragma: export
#include "tally/metrics/progress.h"                       // IWYU pragma: export
#include "tally/metrics/registry/collection_config.h"     // IWYU pragma: export
#include "tally/metrics/registry/config_schema.h"         // IWYU pragma: export
#include "tally/metrics/registry/registry.h"              // IWYU pragma: export
#include "tally/metrics/registry/search.h"                // IWYU pragma: export
#include "tally/metrics/regression/regression.h"          // IWYU pragma: export
#include "tally/metrics/results_csv.h"                    // IWYU pragma: export
#include "tally/metrics/results_json.h"                   // IWYU pragma: export
#include "tally/metrics/results_table.h"                  // IWYU pragma: export
#include "tally/metrics/retrieval/retrieval.h"            // IWYU pragma: export
#include "tally/metrics/sampling.h"                       // IWYU pragma: export
#include "tally/metrics/segmentation/segmentation.h"      // IWYU pragma: export
#include "tally/metrics/shape/shape.h"                    // IWYU pragma: export
#include "tally/metrics/slices/named_sets.h"              // IWYU pragma: export
#include "tally/metrics/slices/slice_comparison.h"        // IWYU pragma: export
#include "tally/metrics/slices/sliced_metric.h"           // IWYU pragma: export
#include "tally/metrics/text/text.h"                      // IWYU pragma: export
#include "tally/metrics/value_of.h"                       // IWYU pragma: export
#include "tally/metrics/wrappers/wrappers.h"              // IWYU pragma: export
