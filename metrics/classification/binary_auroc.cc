#include "tally/metrics/classification/binary_auroc.h"

#include <limits>

#include "tally/metrics/classification/roc_area.h"

namespace tally {

void BinaryAUROCOptions::validate(const char* metric) const {
  thresholds_.validate(metric);
  TORCH_CHECK_VALUE(!max_fpr_ || (*max_fpr_ > 0 && *max_fpr_ <= 1), metric,
                    ": expected max_fpr in (0, 1], got ", *max_fpr_);
}

at::Tensor BinaryAUROC::evaluate(const State& state) const {
  const auto counts = internal::score_counts(state);
  if (!counts) return Number(std::numeric_limits<double>::quiet_NaN());
  return Number(std::visit(
      [&](const auto& ranked) {
        return internal::roc_area(ranked, options().max_fpr());
      },
      *counts));
}

}  // namespace tally
