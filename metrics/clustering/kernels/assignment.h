#pragma once

#include <cstdint>

#include "tally/metrics/tables/contingency.h"

namespace tally::internal::clustering {

/// The largest sum of counts of cells of which no two are in the same row or
/// column: of the best assignment of rows to columns, of which one side may
/// have more. Takes memory for the cells that are not 0 only. c10::ValueError
/// for 2^61 samples or more.
std::int64_t largest_assignment(const tables::Contingency& table);

}  // namespace tally::internal::clustering
