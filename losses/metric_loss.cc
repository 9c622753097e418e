#include "tally/losses/metric_loss.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>

#include "tally/losses/common/autocast.h"
#include "tally/port/autograd.h"
#include "tally/sync/autograd.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally::losses {
namespace {

void append_tensors(const InputRef& input, std::vector<at::Tensor>& tensors) {
  input.visit_tensors(
      [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
}

/// Whether all parts but the value itself are counts, which have no gradient.
bool is_value_with_counts(const Results& results) {
  if (results.size() == 1) return true;
  return results.contains("") &&
         std::all_of(results.begin(), results.end(), [](const auto& part) {
           return part.first.empty() ||
                  at::isIntegralType(part.second.scalar_type(),
                                     /*includeBool=*/true);
         });
}

const Metric& checked(const std::unique_ptr<Metric>& metric) {
  TORCH_CHECK_VALUE(metric, "MetricLoss expected a metric, got null");
  TORCH_CHECK_VALUE(metric->is_differentiable(),
                    "MetricLoss expected a differentiable metric, got ",
                    metric->repr());
  TORCH_CHECK_VALUE(metric->status() == MetricStatus::kEmpty,
                    "MetricLoss expected a metric that has accumulated "
                    "nothing, got ",
                    metric->repr(), " whose update_count is ",
                    metric->update_count());
  Results results;
  metric->evaluate_into(metric->make_state(), "", results);
  TORCH_CHECK_VALUE(is_value_with_counts(results), "MetricLoss expected ",
                    metric->repr(), " to return one tensor, got ",
                    results.size());
  return *metric;
}

/// Those of `inputs` that the backward pass of `loss` does not come to.
std::vector<at::Tensor> not_reached(const at::Tensor& loss,
                                    const std::vector<at::Tensor>& inputs) {
  using port::Edge;
  if (!loss.requires_grad()) return inputs;
  std::vector<Edge> edges;
  for (const at::Tensor& input : inputs) {
    edges.push_back(port::gradient_edge(input));
  }
  std::vector<bool> reached(edges.size());
  std::unordered_set<port::Node*> seen;
  std::vector<Edge> next = {port::gradient_edge(loss)};
  while (!next.empty()) {
    const Edge edge = next.back();
    next.pop_back();
    if (!edge.is_valid()) continue;
    // What is behind an input belongs to the model.
    bool is_inputs = false;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      is_inputs |= edges[i].function == edge.function;
      if (edges[i] == edge) reached[i] = true;
    }
    if (is_inputs || !seen.insert(edge.function.get()).second) continue;
    const auto& further = edge.function->next_edges();
    next.insert(next.end(), further.begin(), further.end());
  }
  std::vector<at::Tensor> left;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!reached[i]) left.push_back(inputs[i]);
  }
  return left;
}

}  // namespace

MetricLossImpl::MetricLossImpl(std::unique_ptr<Metric> metric,
                               MetricLossOptions options)
    : options_(std::move(options)) {
  MetricOptions of_metric = checked(metric).metric_options();
  of_metric.dist_sync_on_step(true).gradient_flow(options_.gradient_flow());
  if (options_.communicator()) of_metric.communicator(options_.communicator());
  if (options_.timeout()) of_metric.timeout(options_.timeout());
  metric->set_metric_options(std::move(of_metric));
  metric_ = std::move(metric);
}

at::Tensor MetricLossImpl::forward_inputs(Inputs inputs) {
  std::vector<at::Tensor> tensors;
  for (const InputRef& input : inputs) append_tensors(input, tensors);
  return loss_of([&] { return metric_->forward_inputs(inputs); },
                 std::move(tensors));
}

at::Tensor MetricLossImpl::forward_inputs(NamedInputs inputs) {
  std::vector<at::Tensor> tensors;
  for (const NamedInput& input : inputs) append_tensors(input.value(), tensors);
  return loss_of([&] { return metric_->forward_inputs(inputs); },
                 std::move(tensors));
}

at::Tensor MetricLossImpl::loss_of(c10::function_ref<Results()> forward,
                                   std::vector<at::Tensor> tensors) {
  const internal::AutocastOff as_written;
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [](const at::Tensor& tensor) {
                                 return !tensor.defined() ||
                                        !tensor.requires_grad();
                               }),
                tensors.end());
  // A batch without rows leaves no trace in the loss.
  const sync::LeadTo lead_to(tensors);
  const sync::internal::AsMetricLoss as_loss;
  const Results results = forward();
  at::Tensor loss = results.contains("") ? results[""] : results.value();
  if (!options_.accumulate()) metric_->reset();
  // To tie the others would cost a sum of their size each.
  for (const at::Tensor& tensor : not_reached(loss, tensors)) {
    loss = sync::tie(loss, tensor);
  }
  return loss;
}

void MetricLossImpl::reset() { metric_ = metric_->clone(); }

void MetricLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tally::losses::MetricLoss(" << metric_->repr() << ')';
}

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::MetricLossImpl>;
