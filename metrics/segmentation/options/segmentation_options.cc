#include "tally/metrics/segmentation/options/segmentation_options.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tally::internal::segmentation {

void check_num_classes(const char* metric, std::int64_t num_classes) {
  TORCH_CHECK_VALUE(num_classes >= 1, metric,
                    ": expected num_classes of at least 1, got ", num_classes);
}

void check_spacing(const char* metric,
                   const std::optional<std::vector<double>>& spacing) {
  if (!spacing) return;
  const bool fine = (spacing->size() == 2 || spacing->size() == 3) &&
                    std::all_of(spacing->begin(), spacing->end(), [](double s) {
                      return s > 0 && std::isfinite(s);
                    });
  TORCH_CHECK_VALUE(fine, metric,
                    ": expected spacing of 2 or 3 finite numbers above 0, got ",
                    c10::ArrayRef<double>(*spacing));
}

void check_empty_penalty(const char* metric,
                         const std::optional<double>& empty_penalty) {
  TORCH_CHECK_VALUE(!empty_penalty || !std::isnan(*empty_penalty), metric,
                    ": expected an empty_penalty, got NaN");
}

double value_of(AbsentClass absent) {
  if (absent == AbsentClass::kNan) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return absent == AbsentClass::kOne ? 1 : 0;
}

}  // namespace tally::internal::segmentation
