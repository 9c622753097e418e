#include "tally/metrics/aggregation/cat_metric.h"

#include <ATen/ops/empty.h>

#include "tally/metrics/checks.h"

namespace tally {
namespace {

at::Tensor rows_without_nan(const at::Tensor& rows) {
  const at::Tensor nan = rows.isnan().reshape({rows.size(0), -1}).any(1);
  return rows.index_select(0, nan.logical_not().nonzero().squeeze(1));
}

}  // namespace

CatAggregation::State CatAggregation::observe(const at::Tensor& value) const {
  internal::check_real("value", value);
  at::Tensor rows = value.dim() == 0 ? value.unsqueeze(0) : value;
  if (nan_strategy_ != NanStrategy::kDisable && internal::has_nan(rows)) {
    internal::aggregation::report_nan(nan_strategy_, "value", rows);
    rows = nan_strategy_ == NanStrategy::kReplace
               ? rows.masked_fill(rows.isnan(), nan_value_)
               : rows_without_nan(rows);
  }
  // A result with a graph is not copied on its way out.
  if (rows.requires_grad()) rows = rows.clone();
  return {Rows(rows)};
}

at::Tensor CatMetric::evaluate(const State& state) const {
  return state.value.defined() ? state.value.tensor()
                               : at::empty({0}, at::kDouble);
}

}  // namespace tally
