#include "tally/metrics/intervals/interval_metric.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/row_accumulator.h"
#include "tally/state/outside_inference.h"

namespace tally {

namespace intervals = internal::intervals;

IntervalMetric::IntervalMetric(OwnedMetric metric, Options options)
    : engine_(intervals::make_engine(metric.take(kName), options)),
      accumulated_(std::make_unique<intervals::RowAccumulator>(
          intervals::RowAccumulator::Rules{
              kName, engine_->uses_ids(), options.grouped(),
              engine_->identity(), engine_->key()})) {}

IntervalMetric::IntervalMetric(IntervalMetric&&) noexcept = default;
IntervalMetric& IntervalMetric::operator=(IntervalMetric&&) noexcept = default;
IntervalMetric::~IntervalMetric() = default;

const IntervalOptions& IntervalMetric::options() const {
  return engine_->options();
}
const Metric& IntervalMetric::metric() const { return engine_->metric(); }
IntervalMethod IntervalMetric::method() const { return engine_->method(); }
bool IntervalMetric::uses_ids() const { return engine_->uses_ids(); }
std::int64_t IntervalMetric::rows() const { return accumulated_->rows(); }

void IntervalMetric::reset() { accumulated_->reset(); }

void IntervalMetric::update_named(const SampleIds* ids, NamedInputs inputs) {
  internal::OrderedInputs ordered;
  input_order_.arrange(
      inputs, metric().inputs(),
      [this](std::size_t) { return metric().name(); }, ordered);
  update_rows(ids, ordered);
}

void IntervalMetric::update_rows(const SampleIds* ids, Inputs inputs) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  accumulated_->update(metric(), ids, intervals::rows_of_inputs(inputs),
                       [&](const std::vector<std::int64_t>& own) {
                         return engine_->observe(inputs, own);
                       });
}

std::string IntervalMetric::serialize() const {
  const internal::OutsideInference outside;
  return accumulated_->serialize(metric().name());
}

absl::Status IntervalMetric::deserialize(std::string_view bytes) {
  const internal::OutsideInference outside;
  return accumulated_->deserialize(metric().name(), bytes);
}

Intervals IntervalMetric::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = accumulated_->merged(metric());
  return engine_->intervals(all.state, all.rows);
}

Replicates IntervalMetric::replicates() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = accumulated_->merged(metric());
  auto replicates =
      intervals::drawn_replicates(*engine_, all.state, all.rows, all.digest);
  TORCH_CHECK_VALUE(replicates, kName,
                    ": expected rows, and method poisson, double_or_nothing or "
                    "jackknife, got ",
                    all.rows, " rows and ",
                    internal::OptionType<IntervalMethod>::print(method()));
  return *std::move(replicates);
}

}  // namespace tally
