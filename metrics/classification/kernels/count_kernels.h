#pragma once

#include <cstdint>

/// The inner loops of metrics of counts, with the widest vectors of the
/// machine.
namespace tally::internal::classification {

/// The counts of elements whose targets are all 0 or 1.
struct PlainCounts {
  std::int64_t tp = 0;
  std::int64_t predicted = 0;
  std::int64_t target = 0;
};

/// Adds the counts of elements, predicted as 1 above the threshold. Returns
/// false and adds nothing if a target is not 0 or 1, or a score is NaN or (with
/// `checks_range`) outside [0, 1].
bool count_plain_run(const float* preds, const std::int64_t* targets,
                     std::int64_t size, float threshold, bool checks_range,
                     PlainCounts& counts);

/// The same for rows [labels] per label: true positives, predictions and
/// targets are added to counts [3, labels]. Returns the number of rows counted:
/// it stops at, or somewhat before, the first row that count_plain_run would
/// reject.
std::int64_t count_plain_rows(const float* preds, const std::int64_t* targets,
                              std::int64_t rows, std::int64_t labels,
                              float threshold, bool checks_range,
                              std::int64_t* counts);

}  // namespace tally::internal::classification
