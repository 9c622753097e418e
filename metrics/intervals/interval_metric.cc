#include "tally/metrics/intervals/interval_metric.h"

#include <c10/util/Exception.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/replicate_engine.h"
#include "tally/metrics/intervals/row_sums.h"
#include "tally/metrics/intervals/unit_engine.h"
#include "tally/metrics/sampling.h"
#include "tally/state/joined.h"

namespace tally {
namespace internal::intervals {
namespace {

using Make = std::unique_ptr<IntervalEngine> (*)(std::unique_ptr<Metric>&,
                                                 const IntervalOptions&);

bool is_formula(IntervalMethod method) {
  switch (method) {
    case IntervalMethod::kWilson:
    case IntervalMethod::kClopperPearson:
    case IntervalMethod::kLogitDelta:
    case IntervalMethod::kDelong:
    case IntervalMethod::kNewcombe:
    case IntervalMethod::kPoissonCells:
    case IntervalMethod::kMover:
    case IntervalMethod::kDelongNewcombe:
    case IntervalMethod::kDeleteOne:
    case IntervalMethod::kOrderStatistic:
    case IntervalMethod::kDebiasedGaps:
      return true;
    default:
      return false;
  }
}

bool is_extreme(const AnyState& state) {
  for (const Field& field : state.fields()) {
    const bool is_value = field.kind == Field::Kind::kNumber ||
                          field.kind == Field::Kind::kTensor;
    if (is_value &&
        (field.merge == Merge::kMin || field.merge == Merge::kMax)) {
      return true;
    }
  }
  return false;
}

std::unique_ptr<IntervalEngine> replicate_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  if (auto engine = curve_engine(metric, options)) return engine;
  const AnyState state = metric->make_state();
  if (!merges_by_field(state) || compacts(state)) return nullptr;
  return std::make_unique<ReplicateEngine>(std::move(metric), options);
}

std::unique_ptr<IntervalEngine> unit_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options) {
  return std::make_unique<UnitEngine>(std::move(metric), options);
}

// Obuchowski's, of an area under one ROC curve.
std::unique_ptr<IntervalEngine> clustered_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  const auto scores = metric->sampling().scores;
  if (!scores || scores->area != CurveArea::kRoc) return nullptr;
  return curve_engine(metric, options);
}

// For ends and replicates that other methods have not.
std::unique_ptr<IntervalEngine> drawing_engine(std::unique_ptr<Metric>& metric,
                                               IntervalOptions options) {
  options.method(IntervalMethod::kPoissonCells);
  if (!options.grouped()) {
    if (auto engine = cell_engine(metric, options)) return engine;
  }
  options.method(IntervalMethod::kPoisson);
  return curve_engine(metric, options);
}

std::unique_ptr<IntervalEngine> automatic_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  if (options.ends() == ReplicateInterval::kBca || options.stratified()) {
    if (auto engine = drawing_engine(metric, options)) return engine;
  }
  if (options.grouped()) {
    if (auto engine = clustered_engine(metric, options)) return engine;
  } else {
    for (const Make make : {proportion_engine, cell_engine, area_engine,
                            delete_one_engine, order_engine, gap_engine}) {
      if (auto engine = make(metric, options)) return engine;
    }
  }
  return unit_engine(metric, options);
}

std::unique_ptr<IntervalEngine> engine_of(std::unique_ptr<Metric>& metric,
                                          const IntervalOptions& options) {
  switch (options.method()) {
    case IntervalMethod::kWilson:
    case IntervalMethod::kClopperPearson:
      return proportion_engine(metric, options);
    case IntervalMethod::kLogitDelta:
    case IntervalMethod::kPoissonCells:
    case IntervalMethod::kMover:
      return cell_engine(metric, options);
    case IntervalMethod::kDelong:
    case IntervalMethod::kNewcombe:
    case IntervalMethod::kDelongNewcombe:
      return area_engine(metric, options);
    case IntervalMethod::kDeleteOne:
      return delete_one_engine(metric, options);
    case IntervalMethod::kObuchowski:
      return clustered_engine(metric, options);
    case IntervalMethod::kOrderStatistic:
      return order_engine(metric, options);
    case IntervalMethod::kDebiasedGaps:
      return gap_engine(metric, options);
    case IntervalMethod::kPoisson:
    case IntervalMethod::kDoubleOrNothing:
      return replicate_engine(metric, options);
    case IntervalMethod::kJackknife:
      return unit_engine(metric, options);
    default:
      return automatic_engine(metric, options);
  }
}

}  // namespace

std::string no_interval(const Metric& metric) {
  const std::string name = metric.name();
  if (depends_on_batches(metric)) {
    return "expected a metric whose value does not depend on the batches that "
           "rows come in, got " +
           metric.repr();
  }
  if (is_extreme(metric.make_state())) {
    return name +
           " has no interval: the largest and smallest values of resampled "
           "rows do not vary like those of new rows; use a mean or a quantile";
  }
  const char* const refusal = metric.sampling().refusal;
  return refusal == nullptr ? "" : name + " has no interval: " + refusal;
}

std::unique_ptr<IntervalEngine> make_engine(std::unique_ptr<Metric> metric,
                                            const IntervalOptions& options) {
  options.validate();
  const std::string text = metric->repr();
  const MetricSampling sampling = metric->sampling();
  const std::string reason = no_interval(*metric);
  TORCH_CHECK_VALUE(reason.empty() || sampling.gaps, reason);
  TORCH_CHECK_VALUE(!options.grouped() || !is_formula(options.method()),
                    "expected method jackknife, obuchowski, poisson or "
                    "double_or_nothing for grouped rows, got ",
                    text_of(options.method()));
  TORCH_CHECK_VALUE(
      !sampling.gaps || (!options.grouped() &&
                         (options.method() == IntervalMethod::kAuto ||
                          options.method() == IntervalMethod::kDebiasedGaps)),
      metric->name(),
      " has no interval of rows in groups, nor by any method but "
      "debiased_gaps: others keep the bias of the gaps of its bins");
  TORCH_CHECK_VALUE(
      !sampling.order || (!options.grouped() &&
                          options.method() != IntervalMethod::kJackknife),
      metric->name(),
      " has no interval of rows in groups, nor by the jackknife, which does "
      "not hold for quantiles; use method order_statistic of single rows, or "
      "compare mean errors");
  metric->set_dtype(at::kDouble);
  auto engine = engine_of(metric, options);
  TORCH_CHECK_VALUE(engine, "expected a metric that method ",
                    text_of(options.method()), " fits, got ", text,
                    ", for which there are ",
                    joined(", ", interval_methods(*metric), text_of));
  TORCH_CHECK_VALUE(
      options.ends() != ReplicateInterval::kBca || engine->has_bca(),
      "expected method poisson_cells, or replicates of an AUROC, for ends=bca, "
      "got ",
      text_of(engine->method()), " of ", text);
  TORCH_CHECK_VALUE(
      !options.stratified() || engine->has_strata(),
      "expected method poisson_cells, or replicates of an AUROC or average "
      "precision, for stratified, got ",
      text_of(engine->method()), " of ", text);
  return engine;
}

}  // namespace internal::intervals

namespace intervals = internal::intervals;

std::vector<IntervalMethod> interval_methods(const Metric& metric) {
  const MetricSampling sampling = metric.sampling();
  if (sampling.gaps) return {IntervalMethod::kDebiasedGaps};
  if (!intervals::no_interval(metric).empty()) return {};
  std::vector<IntervalMethod> methods;
  const auto add = [&](bool fits, std::initializer_list<IntervalMethod> some) {
    if (fits) methods.insert(methods.end(), some);
  };
  const bool adds_up = intervals::is_sum_of_rows(metric.make_state());
  add(sampling.rate.has_value(),
      {IntervalMethod::kWilson, IntervalMethod::kClopperPearson});
  add(sampling.cells && sampling.cells->averaged, {IntervalMethod::kMover});
  add(sampling.cells.has_value(),
      {IntervalMethod::kLogitDelta, IntervalMethod::kPoissonCells});
  add(sampling.pairs.has_value(),
      {IntervalMethod::kDelongNewcombe, IntervalMethod::kDelong,
       IntervalMethod::kNewcombe});
  add(sampling.scores && sampling.scores->area == CurveArea::kPrecisionRecall,
      {IntervalMethod::kDeleteOne});
  add(sampling.order.has_value(), {IntervalMethod::kOrderStatistic});
  // Without one value, a quantile is one of two: that says nothing of others.
  add(!sampling.order, {IntervalMethod::kJackknife});
  add(adds_up || sampling.rate || sampling.cells || sampling.scores ||
          sampling.row_sums,
      {IntervalMethod::kPoisson, IntervalMethod::kDoubleOrNothing});
  return methods;
}

IntervalMetric::IntervalMetric(OwnedMetric metric, Options options)
    : IntervalMetric(
          intervals::make_engine(metric.take(kName), std::move(options))) {}

IntervalMetric::IntervalMetric(
    std::unique_ptr<intervals::IntervalEngine> engine)
    : RowMetric({kName, engine->uses_ids(), engine->options().grouped()},
                engine->metric(), engine->identity(), engine->key()),
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
  return compute_by(
      value_,
      [&](internal::StateRows& rows) {
        return engine_->intervals(state_of(rows), count_of(rows));
      },
      [&](Intervals& intervals) {
        IntervalFlags flags;
        for (const auto& [name, part] : intervals) {
          if (part.n > 0) flags.add(part.flags);
        }
        warn_of(flags);
      });
}

PendingValue<Intervals> IntervalMetric::sync_async() {
  return sync_async_by<Intervals>([&] {
    IntervalMetric empty(metric().clone(), options());
    empty.set_metric_options(metric_options());
    return [snapshot = std::make_shared<const IntervalMetric>(
                std::move(empty))](internal::StateRows& rows) {
      return snapshot->engine_->intervals(state_of(rows),
                                          snapshot->count_of(rows));
    };
  });
}

Replicates IntervalMetric::replicates() {
  std::optional<Replicates> drawn;
  const auto draw = [&](internal::StateRows& rows) {
    const intervals::RowCount count = count_of(rows);
    drawn = intervals::drawn_replicates(*engine_, state_of(rows), count);
    TORCH_CHECK_VALUE(
        drawn, kName,
        ": expected rows, and method poisson, double_or_nothing or "
        "jackknife, got ",
        count.rows, " rows and ", intervals::text_of(method()));
  };
  compute_once(draw, [] {});
  return *std::move(drawn);
}

IntervalMetric IntervalMetric::clone() const {
  IntervalMetric copy(metric().clone(), options());
  copy_into(copy);
  return copy;
}

std::string IntervalMetric::spec() const {
  return std::string(kName) + "(metric=" + metric().spec() + ", " +
         options_repr(options()) + ")";
}

std::string IntervalMetric::repr() const {
  return std::string(kName) + "(metric=" + metric().repr() +
         ", method=" + intervals::text_of(method()) + ")";
}

}  // namespace tally
