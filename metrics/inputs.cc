#include "tally/metrics/inputs.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

namespace tally {

InputRef InputRef::none() {
  static const at::Tensor undefined;
  return InputRef::of(undefined);
}

namespace internal {

std::int64_t InputTraits<at::Tensor>::rows(const void* tensor) {
  const auto& input = *static_cast<const at::Tensor*>(tensor);
  return input.defined() && input.dim() > 0 ? input.size(0) : -1;
}

InputValue InputTraits<at::Tensor>::select(const void* tensor,
                                           c10::ArrayRef<std::int64_t> places) {
  const auto& input = *static_cast<const at::Tensor*>(tensor);
  return InputValue::of(
      input.index_select(0, at::tensor(places, at::kLong).to(input.device())));
}

}  // namespace internal
}  // namespace tally
