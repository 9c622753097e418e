#include "tally/metrics/features/inputs/pairs.h"

#include <c10/util/Exception.h>

namespace tally::internal::features {

at::Tensor rows_without_nan(const at::Tensor& a, const at::Tensor& b,
                            const char* what, NanPolicy policy) {
  if (policy == NanPolicy::kPropagate || a.numel() == 0) return {};
  const at::Tensor nan = a.detach().isnan().flatten(1).any(1).logical_or(
      b.detach().isnan().flatten(1).any(1));
  if (!nan.any().item().toBool()) return {};
  TORCH_CHECK_VALUE(policy == NanPolicy::kIgnore, "expected ", what,
                    " without NaN, got some in row ",
                    nan.to(at::kByte).argmax().item().toLong());
  return nan.logical_not().nonzero().squeeze(1);
}

WidePairs wide_pairs(const at::Tensor& a, const at::Tensor& b, const char* what,
                     NanPolicy policy) {
  const at::Tensor kept = rows_without_nan(a, b, what, policy);
  const auto wide = [&](const at::Tensor& rows) {
    return (kept.defined() ? rows.index_select(0, kept) : rows)
        .to(at::kDouble)
        .contiguous();
  };
  return {wide(a), wide(b)};
}

}  // namespace tally::internal::features
