#include "tally/metrics/resampling/sample_ids.h"

#define XXH_INLINE_ALL
#include <c10/util/Exception.h>
#include <xxhash.h>

#include <utility>

#include "tally/state/parse_number.h"

namespace tally {

SampleIds::SampleIds(const at::Tensor& integers) {
  TORCH_CHECK_VALUE(
      integers.defined() && integers.dim() == 1,
      "ids: expected sizes [N], got ",
      integers.defined() ? c10::str(integers.sizes()) : "an undefined tensor");
  TORCH_CHECK_TYPE(at::isIntegralType(integers.scalar_type(), false),
                   "ids: expected integers or texts, got ",
                   integers.scalar_type());
  const at::Tensor values = integers.to(at::kCPU, at::kLong).contiguous();
  const auto* const begin = values.const_data_ptr<std::int64_t>();
  ids_.assign(begin, begin + values.numel());
}

SampleIds::SampleIds(const std::vector<std::string>& texts) {
  ids_.reserve(texts.size());
  for (const std::string& text : texts) {
    const auto integer = internal::parse_number<std::int64_t>(text);
    const bool is_integer = integer && std::to_string(*integer) == text;
    ids_.push_back(is_integer ? *integer
                              : static_cast<std::int64_t>(
                                    XXH64(text.data(), text.size(), 0)));
  }
}

SampleIds::SampleIds(std::vector<std::int64_t> integers)
    : ids_(std::move(integers)) {}

}  // namespace tally
