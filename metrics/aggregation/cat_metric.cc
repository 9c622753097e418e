#include "tally/metrics/aggregation/cat_metric.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tally/metrics/checks.h"

namespace tally {
namespace {

at::Tensor nan_rows(const at::Tensor& rows) {
  return rows.isnan().reshape({rows.size(0), -1}).any(1);
}

}  // namespace

CatAggregation::State CatAggregation::observe(const at::Tensor& value) const {
  internal::check_real("value", value);
  at::Tensor rows = value.dim() == 0 ? value.unsqueeze(0) : value;
  State state;
  if (nan_strategy_ == NanStrategy::kWarn) state.nan.add_rows(rows.size(0));
  if (nan_strategy_ != NanStrategy::kDisable && internal::has_nan(rows)) {
    const at::Tensor nan = nan_rows(rows);
    internal::aggregation::report_nan(
        nan_strategy_, "value",
        at::zeros({rows.size(0)}, nan.options().dtype(at::kDouble))
            .masked_fill(nan, std::nan("")),
        state.nan);
    rows = nan_strategy_ == NanStrategy::kReplace
               ? rows.masked_fill(rows.isnan(), nan_value_)
               : rows.index_select(0, nan.logical_not().nonzero().squeeze(1));
  }
  // A result with a graph is not copied on its way out.
  if (rows.requires_grad()) rows = rows.clone();
  state.value = Rows(rows);
  return state;
}

at::Tensor CatMetric::evaluate(const State& state) const {
  return state.value.defined() ? state.value.tensor()
                               : at::empty({0}, at::kDouble);
}

}  // namespace tally
