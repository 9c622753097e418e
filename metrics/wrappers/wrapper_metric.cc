#include "tally/metrics/wrappers/wrapper_metric.h"

#include "tally/metrics/core/sync_options.h"

namespace tally {

Results WrapperMetric::compute_rows(internal::StateRows& rows) const {
  Results results;
  AnyState none;
  const bool keeps = accumulation_.columns().size() > 1;
  compute_into(rows[0], keeps ? rows.kept(0, 1) : none, "", results);
  return results;
}

// Of a class that has compute_into().
void WrapperMetric::evaluate_into(const AnyState& state,
                                  const std::string& name,
                                  Results& results) const {
  AnyState none = make_kept();
  compute_into(state, none, name, results);
}

Results WrapperMetric::compute() {
  return compute_by(
      value_, [&](internal::StateRows& rows) { return compute_rows(rows); },
      [](Results&) {});
}

PendingValue<Results> WrapperMetric::sync_async() {
  return sync_async_by<Results>([&] {
    return [snapshot = std::shared_ptr<const Metric>(clone())](
               internal::StateRows& rows) {
      return static_cast<const WrapperMetric&>(*snapshot).compute_rows(rows);
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

void MetricWrapper::set_state(AnyState identity, internal::RowParts parts,
                              std::string label) {
  if (label.empty()) label = name();
  accumulation_.add_column(
      {label, key(), std::move(identity), metric_->keeps_on_cpu()});
  accumulation_.column().given =
      std::make_shared<internal::GivenWarnings>(parts);
  accumulation_.add_remarks(0, metric_->remarks());
  AnyState kept = make_kept();
  if (!kept.defined()) return;
  accumulation_.add_column({label + ".computed",
                            internal::kKeptColumn + metric_->state_key(),
                            std::move(kept),
                            /*on_cpu=*/false, /*survives_reset=*/true});
}

std::unique_ptr<Metric> MetricWrapper::clone() const {
  std::unique_ptr<MetricWrapper> copy = around(metric_->clone());
  copy->set_metric_options(metric_options());
  copy->accumulation_.copy_state(accumulation_);
  copy->dtype_ = dtype_;
  return copy;
}

std::string MetricWrapper::text_of(const std::string& metric) const {
  const std::string options = options_text();
  return name() + "(metric=" + metric +
         (options.empty() ? "" : ", " + options) + ")";
}

void MetricWrapper::set_metric_options(MetricOptions options) {
  const Use use(accumulation_);
  accumulation_.set_options(std::move(options));
  metric_->set_metric_options(internal::without_sync_options(metric_options()));
  accumulation_.column().key = key();
  for (internal::StateColumn& column : accumulation_.columns()) {
    if (column.survives_reset)
      column.key = internal::kKeptColumn + metric_->state_key();
  }
  accumulation_.column().on_cpu = metric_->keeps_on_cpu();
}

Results MetricWrapper::results_of(const AnyState& state) const {
  Results results;
  metric_->evaluate_into(state, "", results);
  return results;
}

}  // namespace tally
