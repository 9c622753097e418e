#include "tally/metrics/intervals/row_terms.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_pinball_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/mean_squared_log_error.h"

namespace tally::internal::intervals {
namespace {

// An input as a column; undefined if it is none.
at::Tensor column(Inputs inputs, std::size_t i) {
  const auto* const tensor = inputs[i].as<at::Tensor>();
  if (tensor == nullptr || tensor->dim() != 1 || !tensor->is_cpu() ||
      tensor->isnan().any().item<bool>()) {
    return {};
  }
  return tensor->detach();
}

template <class Derived, class Accumulator, class Result, class Options>
Accumulator accumulator_of(
    const MetricOf<Derived, Accumulator, Result, Options>& metric,
    const Options& options) {
  return Accumulator(options, metric.metric_options());
}

at::Tensor terms_of(const Metric& metric, Inputs inputs) {
  at::Tensor terms;
  visit_metric<MeanMetric>(metric, [&](const auto&) {
    const at::Tensor value = column(inputs, 0);
    if (value.defined()) terms = value.to(at::kDouble);
  });
  visit_metric<LogCoshError, MeanAbsoluteError, MeanPinballLoss,
               MeanSquaredError, MeanSquaredLogError>(
      metric, [&](const auto& m) {
        const at::Tensor preds = column(inputs, 0);
        const at::Tensor target = column(inputs, 1);
        auto options = m.options();
        if (options.num_outputs() != 1 || !preds.defined() ||
            !target.defined() || preds.size(0) < 2) {
          return;
        }
        // One sample, each row as an output of its own.
        options.num_outputs(preds.size(0));
        terms = accumulator_of(m, options)
                    .observe(preds.unsqueeze(0), target.unsqueeze(0))
                    .output_sums;
      });
  return terms;
}

}  // namespace

at::Tensor row_terms(const Metric& metric, Inputs inputs) {
  const at::Tensor terms = terms_of(metric, inputs);
  if (!terms.defined()) return {};
  // The last input of each of these metrics.
  const std::size_t place = metric.inputs().size() - 1;
  if (inputs.size() <= place || inputs[place].is_none()) {
    return at::stack({terms, at::ones_like(terms)}, 1);
  }
  at::Tensor weight = column(inputs, place);
  if (!weight.defined() || weight.sizes() != terms.sizes()) return {};
  weight = weight.to(at::kDouble);
  return at::stack({terms.mul(weight), weight}, 1);
}

}  // namespace tally::internal::intervals
