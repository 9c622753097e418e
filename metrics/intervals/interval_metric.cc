#include "tally/metrics/intervals/interval_metric.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/state/outside_inference.h"

namespace tally {

namespace intervals = internal::intervals;

IntervalMetric::IntervalMetric(OwnedMetric metric, Options options)
    : IntervalMetric(
          intervals::make_engine(metric.take(kName), std::move(options))) {}

IntervalMetric::IntervalMetric(
    std::unique_ptr<intervals::IntervalEngine> engine)
    : RowMetric({kName, engine->uses_ids(), engine->options().grouped(),
                 engine->identity(), engine->key()}),
      engine_(std::move(engine)) {}

IntervalMetric::IntervalMetric(IntervalMetric&&) noexcept = default;
IntervalMetric& IntervalMetric::operator=(IntervalMetric&&) noexcept = default;
IntervalMetric::~IntervalMetric() = default;

const IntervalOptions& IntervalMetric::options() const {
  return engine_->options();
}
const Metric& IntervalMetric::metric() const { return engine_->metric(); }
IntervalMethod IntervalMetric::method() const { return engine_->method(); }

AnyState IntervalMetric::observe(Inputs inputs,
                                 const std::vector<std::int64_t>& ids) const {
  return engine_->observe(inputs, ids);
}

Intervals IntervalMetric::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = merged();
  return engine_->intervals(all.state, all.rows);
}

Replicates IntervalMetric::replicates() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = merged();
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
