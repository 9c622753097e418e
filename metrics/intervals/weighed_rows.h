#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/inputs.h"

namespace tally::internal::intervals {

/// The inputs of a batch without the rows whose weight is 0, and without
/// weights that are all 1.
class WeighedRows {
 public:
  /// Inputs must outlive it.
  WeighedRows(Inputs inputs, std::optional<std::size_t> weight_place,
              std::int64_t rows);

  Inputs inputs() const { return refs_; }
  /// The number of rows whose weight is 0.
  std::int64_t left_out() const { return left_out_; }
  /// Of one for each row, those of the rows that are left.
  std::vector<std::int64_t> selected(std::vector<std::int64_t> ids) const;

 private:
  std::vector<InputRef> refs_;
  std::vector<InputValue> values_;
  std::optional<std::vector<std::int64_t>> places_;  // if rows are skipped
  std::int64_t left_out_ = 0;
};

}  // namespace tally::internal::intervals
