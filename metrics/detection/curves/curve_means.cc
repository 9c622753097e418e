#include "tally/metrics/detection/curves/curve_means.h"

#include <cstdint>
#include <utility>

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
  const auto range = [](const std::optional<std::size_t>& one,
                        std::int64_t all) {
    const auto begin = one ? static_cast<std::int64_t>(*one) : 0;
    return std::pair(begin, one ? begin + 1 : all);
  };
  const auto [first, last] = range(selection.threshold, thresholds);
  const auto [first_label, last_label] = range(selection.label, classes);
  const auto area = static_cast<std::int64_t>(selection.area);
  const auto depth = static_cast<std::int64_t>(selection.depth);
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t line = first * lines; line < last * lines; ++line) {
    for (std::int64_t label = first_label; label < last_label; ++label) {
      const double value =
          values[((line * classes + label) * areas + area) * depths + depth];
      if (value <= -1) continue;
      sum += value;
      ++count;
    }
  }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

}  // namespace tally::internal::detection
