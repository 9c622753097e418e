#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/intervals/unit_states.h"
#include "tally/state/state.h"

namespace tally::internal::intervals {

/// The rows of a batch by unit, or by block where these are many.
struct RowUnits {
  std::vector<std::int64_t> ids;    // of units or blocks, ascending
  std::vector<std::int32_t> codes;  // of rows: places in ids
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> order;  // rows by code
  bool are_blocks = false;
};
/// REQUIRES: there are ids.
RowUnits units_of_rows(const std::vector<std::int64_t>& ids,
                       const BlockRules& rules);

/// Whether each input row is one of each field, so that they can be divided.
bool has_row_of_each(const AnyState& batch, std::int64_t rows);
/// With the rows of each field in this order.
AnyState in_order(const AnyState& batch,
                  const std::vector<std::int64_t>& order);

}  // namespace tally::internal::intervals
