#pragma once

#include "tally/metrics/tables/contingency.h"

namespace tally::internal::clustering {

/// How many pairs of samples are together in both clusterings, in the predicted
/// one only, in the true one only, and in none: counted exactly, then rounded.
struct PairsOfSamples {
  explicit PairsOfSamples(const tables::Contingency& table);

  double both, preds_only, target_only, none;
};

}  // namespace tally::internal::clustering
