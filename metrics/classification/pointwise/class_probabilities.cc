#include "tally/metrics/classification/pointwise/class_probabilities.h"

#include <c10/util/Exception.h>

#include "tally/metrics/classification/inputs/checks.h"

namespace tally::internal::classification {

void refuse_sum(double sum, std::int64_t position) {
  TORCH_CHECK_VALUE(false, "expected probabilities that add up to 1 over the ",
                    "classes as preds, got a sum of ", sum, " at position ",
                    position, " (input is ScoreKind::kLogits for logits)");
}

void check_rows(const ClassLossRules& rules, const ProbabilityRows& rows,
                const at::Tensor& preds, const at::Tensor& target, Note& note) {
  if (!preds.is_cpu()) return;
  for_each_class_loss(
      rules, dense(preds.detach()),
      dense(*whole_target(target, rules.validate_args)),
      [&](const auto* own, std::int64_t stride, std::int64_t,
          std::int64_t index) { rows.check(own, stride, index, note); });
}

}  // namespace tally::internal::classification
