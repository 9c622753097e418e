#include "tally/losses/metric_loss.h"

#include "tally/losses/autocast.h"
#include "tally/sync/autograd.h"
#include "tally/sync/collectives.h"
#include "tally/sync/state_sync.h"

namespace tally::losses {
namespace {

const Metric& checked(const std::unique_ptr<Metric>& metric) {
  TORCH_CHECK_VALUE(metric, "MetricLoss expected a metric, got null");
  TORCH_CHECK_VALUE(metric->is_differentiable(),
                    "MetricLoss expected a differentiable metric, got ",
                    metric->repr());
  TORCH_CHECK_VALUE(metric->status() == MetricState::kEmpty,
                    "MetricLoss expected a metric that has accumulated "
                    "nothing, got ",
                    metric->repr(), " with ", metric->update_count(),
                    " updates");
  Results results;
  metric->evaluate_into(metric->make_state(), "", results);
  TORCH_CHECK_VALUE(results.size() == 1, "MetricLoss expected ", metric->repr(),
                    " to give one tensor, got ", results.size());
  return *metric;
}

}  // namespace

MetricLossImpl::MetricLossImpl(std::unique_ptr<Metric> metric,
                               MetricLossOptions options)
    : options_(std::move(options)) {
  MetricOptions of_metric = checked(metric).metric_options();
  of_metric.dist_sync_on_step(true).gradient_flow(options_.gradient_flow());
  if (options_.communicator()) of_metric.communicator(options_.communicator());
  if (options_.sync_timeout()) of_metric.sync_timeout(options_.sync_timeout());
  metric->set_metric_options(std::move(of_metric));
  metric_ = std::move(metric);
}

at::Tensor MetricLossImpl::forward_inputs(
    Inputs inputs, const std::vector<at::Tensor>& tensors) {
  const internal::AutocastOff as_written;
  std::vector<at::Tensor> learned;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.requires_grad()) learned.push_back(tensor);
  }
  // A batch without rows leaves no trace in the loss.
  const sync::internal::LeadTo lead_to(learned);
  const sync::AsMetricLoss as_loss;
  at::Tensor loss = metric_->forward_inputs(inputs).value();
  if (!options_.accumulate()) metric_->reset();
  for (const at::Tensor& tensor : learned) loss = sync::tie(loss, tensor);
  return loss;
}

void MetricLossImpl::reset() { metric_ = metric_->clone(); }

void MetricLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::MetricLoss(" << metric_->repr() << ')';
}

}  // namespace tally::losses
