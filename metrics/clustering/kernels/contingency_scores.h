#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/tables/contingency.h"

namespace tally::internal::clustering {

/// How many pairs of samples are together in both clusterings, in the predicted
/// one only, in the true one only, and in none: counted exactly, then rounded.
struct PairsOfSamples {
  explicit PairsOfSamples(const tables::Contingency& table);

  double both, preds_only, target_only, none;
};

/// The mutual information to expect of a table with these sums of rows and
/// columns, all tables being equally likely, in nats. REQUIRES: both add up to
/// total.
double expected_information(std::vector<std::int64_t> rows,
                            std::vector<std::int64_t> columns,
                            std::int64_t total);

/// The largest sum of counts of cells of which no two are in the same row or
/// column: of the best assignment of rows to columns, of which one side may
/// have more. Takes memory for the cells that are not 0 only. c10::ValueError
/// for 2^61 samples or more.
std::int64_t largest_assignment(const tables::Contingency& table);

}  // namespace tally::internal::clustering
