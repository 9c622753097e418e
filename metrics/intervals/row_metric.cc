#include "tally/metrics/intervals/row_metric.h"

#include <ATen/core/grad_mode.h>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/state/outside_inference.h"

namespace tally {

void RowMetric::update_named(const SampleIds* ids, NamedInputs given) {
  internal::OrderedInputs ordered;
  input_order_.arrange(
      given, inputs(), [this](std::size_t) { return metric().name(); },
      ordered);
  update_rows(ids, ordered);
}

void RowMetric::update_rows(const SampleIds* ids, Inputs inputs) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  accumulated_.update(metric(), ids,
                      internal::intervals::rows_of_inputs(inputs),
                      [&](const std::vector<std::int64_t>& own) {
                        return observe(inputs, own);
                      });
}

std::string RowMetric::serialize() const {
  const internal::OutsideInference outside;
  return accumulated_.serialize(metric().name());
}

absl::Status RowMetric::deserialize(std::string_view bytes) {
  const internal::OutsideInference outside;
  return accumulated_.deserialize(metric().name(), bytes);
}

}  // namespace tally
