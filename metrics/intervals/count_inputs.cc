#include "tally/metrics/intervals/count_inputs.h"

#include <c10/util/Exception.h>

namespace tally::internal::intervals {

void check_counted(const Metric& metric, Inputs inputs, std::int64_t dims) {
  if (inputs.size() < 2) return;  // refused by the metric
  const auto* const target = inputs[1].as<at::Tensor>();
  TORCH_CHECK_VALUE(
      target == nullptr || !target->defined() || target->dim() <= dims,
      metric.name(), ": expected one sample per row, got target of sizes ",
      target->sizes(), "; use method poisson or jackknife");
  TORCH_CHECK_VALUE(inputs.size() < 3 || inputs[2].is_none(), metric.name(),
                    ": expected no weight; use method poisson or jackknife");
}

}  // namespace tally::internal::intervals
