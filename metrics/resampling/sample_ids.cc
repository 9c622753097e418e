#include "tally/metrics/resampling/sample_ids.h"

#include <c10/util/Exception.h>

#include <utility>

#include "tally/metrics/common/text_key.h"

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
    ids_.push_back(internal::text_key(text));
  }
}

SampleIds::SampleIds(std::vector<std::int64_t> integers)
    : ids_(std::move(integers)) {}

}  // namespace tally
