#include "tally/metrics/tables/label_range.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

namespace tally::internal::tables {

void check_whole_numbers(const char* input, const at::Tensor& labels,
                         const std::string& place) {
  if (!at::isFloatingType(labels.scalar_type())) return;
  const at::Tensor plain =
      labels.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* const begin = plain.const_data_ptr<double>();
  const auto* const end = begin + plain.numel();
  // Larger ones are whole, but may have been others.
  const auto* const wrong = std::find_if_not(begin, end, [](double label) {
    return std::abs(label) <= 0x1p53 && label == std::trunc(label);
  });
  TORCH_CHECK_VALUE(wrong == end, place, "expected whole numbers as ", input,
                    ", got ", *wrong, " at position ", wrong - begin);
}

void check_label_range(const char* input, const at::Tensor& labels,
                       std::optional<std::int64_t> num_classes) {
  if (!num_classes) return;
  const auto* const begin = labels.const_data_ptr<std::int64_t>();
  const auto* const end = begin + labels.numel();
  const auto* const wrong = std::find_if(begin, end, [&](std::int64_t label) {
    return label < 0 || label >= *num_classes;
  });
  TORCH_CHECK_VALUE(wrong == end, "expected labels from 0 to ",
                    *num_classes - 1, " in ", input, ", got ", *wrong,
                    " at position ", wrong - begin);
}

void check_num_classes(const char* metric,
                       std::optional<std::int64_t> num_classes) {
  TORCH_CHECK_VALUE(!num_classes || *num_classes >= 1, metric,
                    ": expected num_classes of at least 1, got ",
                    num_classes.value_or(0));
}

}  // namespace tally::internal::tables
