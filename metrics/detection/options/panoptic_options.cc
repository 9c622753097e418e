#include "tally/metrics/detection/options/panoptic_options.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>

namespace tally {

void PanopticQualityOptions::validate(const char* metric) const {
  std::vector<std::int64_t> all = categories();
  TORCH_CHECK_VALUE(!all.empty(), metric,
                    ": options 'things' and 'stuffs': expected categories, "
                    "got none");
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  TORCH_CHECK_VALUE(twice == all.end(), metric,
                    ": options 'things' and 'stuffs': expected different "
                    "categories, got ",
                    twice == all.end() ? 0 : *twice, " twice in ",
                    c10::ArrayRef<std::int64_t>(things_), " and ",
                    c10::ArrayRef<std::int64_t>(stuffs_));
}

std::vector<std::int64_t> PanopticQualityOptions::categories() const {
  std::vector<std::int64_t> all = things_;
  all.insert(all.end(), stuffs_.begin(), stuffs_.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(things_.size());
  std::sort(all.begin(), middle);
  std::sort(middle, all.end());
  return all;
}

}  // namespace tally
