#include "tally/metrics/clustering/kernels/pairs_of_samples.h"

#include <cstdint>
#include <vector>

namespace tally::internal::clustering {
namespace {

__extension__ using Wide = __int128;

Wide pairs_in(std::int64_t count) { return Wide{count} * (count - 1) / 2; }

Wide pairs_in(const std::vector<std::int64_t>& counts) {
  Wide pairs = 0;
  for (const std::int64_t count : counts) pairs += pairs_in(count);
  return pairs;
}

}  // namespace

PairsOfSamples::PairsOfSamples(const tables::Contingency& table) {
  Wide together = 0;
  for (const auto& cell : table.cells) together += pairs_in(cell.count);
  const Wide preds = pairs_in(table.rows);
  const Wide target = pairs_in(table.columns);
  both = static_cast<double>(together);
  preds_only = static_cast<double>(preds - together);
  target_only = static_cast<double>(target - together);
  none = static_cast<double>(pairs_in(table.total) - preds - target + together);
}

}  // namespace tally::internal::clustering
