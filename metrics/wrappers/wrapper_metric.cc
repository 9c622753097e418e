#include "tally/metrics/wrappers/wrapper_metric.h"

#include "tally/metrics/sync_options.h"

namespace tally {

Results WrapperMetric::compute() {
  return compute_by(
      value_,
      [&](const auto& state_of) {
        Results results;
        compute_into(state_of(0), "", results);
        return results;
      },
      [](Results&) {});
}

PendingValue<Results> WrapperMetric::sync_async() {
  return sync_async_by<Results>([&] {
    return [snapshot = std::shared_ptr<const Metric>(clone())](
               const std::vector<AnyState>& states) {
      Results results;
      snapshot->evaluate_into(states[0], "", results);
      return results;
    };
  });
}

void WrapperMetric::add_results(Results inner, const std::string& name,
                                Results& results) const {
  ResultParts parts;
  inner.visit(parts);
  for (const ResultParts::Part& part : parts) {
    at::Tensor own = std::move(*part.value);
    finish(own);
    results.add(joined(name, part.name), std::move(own), part.dimensions);
  }
}

std::string WrapperMetric::joined(const std::string& name,
                                  const std::string& part) {
  return name + (name.empty() || part.empty() ? "" : ".") + part;
}

MetricWrapper::MetricWrapper(const char* name, OwnedMetric metric)
    : MetricWrapper(metric.take(name)) {}

MetricWrapper::MetricWrapper(std::unique_ptr<Metric> metric)
    : WrapperMetric(metric->metric_options()), metric_(std::move(metric)) {
  metric_->set_metric_options(internal::without_sync_options(metric_options()));
}

void MetricWrapper::set_state(AnyState identity) {
  accumulation_.add_group(name(), key(), std::move(identity),
                          metric_options().compute_on_cpu());
  accumulation_.add_remarks(0, metric_->remarks());
}

std::unique_ptr<Metric> MetricWrapper::clone() const {
  std::unique_ptr<MetricWrapper> copy = around(metric_->clone());
  copy->set_metric_options(metric_options());
  copy->accumulation_.copy_state(accumulation_);
  copy->dtype_ = dtype_;
  return copy;
}

std::string MetricWrapper::repr() const {
  const std::string options = options_text();
  return name() + "(metric=" + metric_->repr() +
         (options.empty() ? "" : ", " + options) + ")";
}

void MetricWrapper::set_metric_options(MetricOptions options) {
  const Use use(accumulation_);
  accumulation_.set_options(std::move(options));
  metric_->set_metric_options(internal::without_sync_options(metric_options()));
  accumulation_.group().key = key();
  accumulation_.group().on_cpu = metric_options().compute_on_cpu();
}

Results MetricWrapper::results_of(const AnyState& state) const {
  Results results;
  metric_->evaluate_into(state, "", results);
  return results;
}

}  // namespace tally
