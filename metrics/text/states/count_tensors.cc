#include "tally/metrics/text/states/count_tensors.h"

#include <c10/util/Exception.h>

#include <cstdint>

#include "tally/state/fresh_tensor.h"

namespace tally::internal::text {

at::Tensor checked_counts(const at::Tensor& counts, at::IntArrayRef sizes) {
  TORCH_CHECK_VALUE(
      counts.scalar_type() == at::kLong && counts.sizes() == sizes,
      "expected counts int64 ", sizes, ", got ", counts.scalar_type(), " ",
      counts.sizes());
  return counts.cpu().contiguous();
}

at::Tensor added_counts(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  const at::Tensor left = checked_counts(a, a.sizes());
  const at::Tensor right = checked_counts(b, a.sizes());
  at::Tensor sum = fresh_tensor(a.sizes(), at::kLong);
  const auto* const x = left.const_data_ptr<std::int64_t>();
  const auto* const y = right.const_data_ptr<std::int64_t>();
  auto* const out = sum.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < sum.numel(); ++i) out[i] = x[i] + y[i];
  return sum;
}

}  // namespace tally::internal::text
