#include "tally/metrics/regression/inputs.h"

#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"

namespace tally::internal {

void check_num_outputs(const char* metric, std::int64_t num_outputs) {
  TORCH_CHECK_VALUE(num_outputs >= 1, metric,
                    ": expected num_outputs of at least 1, got ", num_outputs);
}

void check_outputs(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs) {
  check_real("preds", preds);
  check_real("target", target);
  check_same_shape("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      num_outputs == 1 || (preds.dim() == 2 && preds.size(1) == num_outputs),
      "expected preds and target of shape [N, ", num_outputs, "], got ",
      preds.sizes());
}

std::pair<at::Tensor, at::Tensor> handle_nan(const at::Tensor& preds,
                                             const at::Tensor& target,
                                             std::int64_t num_outputs,
                                             NanPolicy policy) {
  if (policy == NanPolicy::kError) {
    TORCH_CHECK_VALUE(!has_nan(preds), "expected preds without NaN, got some");
    TORCH_CHECK_VALUE(!has_nan(target),
                      "expected target without NaN, got some");
    return {preds, target};
  }
  at::Tensor nan = preds.isnan().logical_or(target.isnan());
  nan = num_outputs == 1 ? nan.reshape(-1) : nan.any(1);
  const at::Tensor kept = nan.logical_not().nonzero().squeeze(1);
  const auto keep = [&](const at::Tensor& input) {
    return (num_outputs == 1 ? input.reshape(-1) : input).index_select(0, kept);
  };
  return {keep(preds), keep(target)};
}

}  // namespace tally::internal
