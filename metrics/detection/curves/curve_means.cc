#include "tally/metrics/detection/curves/curve_means.h"

#include <cstdint>
#include <numeric>

namespace tally::internal::detection {

double mean_of(const at::Tensor& array, const CurveSelection& selection) {
  const double* values = array.const_data_ptr<double>();
  const std::int64_t depths = array.size(-1);
  const std::int64_t areas = array.size(-2);
  const std::int64_t classes = array.size(-3);
  const std::int64_t thresholds = array.size(0);
  if (array.numel() == 0) return -1;
  const std::int64_t lines =
      array.numel() / (thresholds * classes * areas * depths);
  const std::int64_t first =
      static_cast<std::int64_t>(selection.threshold.value_or(0));
  const std::int64_t last = selection.threshold ? first + 1 : thresholds;
  std::vector<std::size_t> all(static_cast<std::size_t>(classes));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::size_t>& chosen =
      selection.classes ? *selection.classes : all;
  const auto area = static_cast<std::int64_t>(selection.area);
  const auto depth = static_cast<std::int64_t>(selection.depth);
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t line = first * lines; line < last * lines; ++line) {
    for (const std::size_t k : chosen) {
      const std::int64_t place = line * classes + static_cast<std::int64_t>(k);
      const double value = values[(place * areas + area) * depths + depth];
      if (value <= -1) continue;
      sum += value;
      ++count;
    }
  }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

}  // namespace tally::internal::detection
