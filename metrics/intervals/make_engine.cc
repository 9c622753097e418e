#include "tally/metrics/intervals/make_engine.h"

#include <c10/util/Exception.h>

#include <string>
#include <utility>

#include "tally/metrics/intervals/area_engine.h"
#include "tally/metrics/intervals/cell_engine.h"
#include "tally/metrics/intervals/curve_engine.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/jackknife_engine.h"
#include "tally/metrics/intervals/proportion_engine.h"
#include "tally/metrics/intervals/replicate_engine.h"
#include "tally/metrics/sorted_rows.h"

namespace tally::internal::intervals {
namespace {

using Make = std::unique_ptr<IntervalEngine> (*)(std::unique_ptr<Metric>&,
                                                 const IntervalOptions&);

std::string text_of(IntervalMethod method) {
  return OptionType<IntervalMethod>::print(method);
}

bool is_formula(IntervalMethod method) {
  switch (method) {
    case IntervalMethod::kWilson:
    case IntervalMethod::kClopperPearson:
    case IntervalMethod::kLogitDelta:
    case IntervalMethod::kDelong:
    case IntervalMethod::kNewcombe:
    case IntervalMethod::kPoissonCells:
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

std::unique_ptr<IntervalEngine> jackknife_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  return std::make_unique<JackknifeEngine>(std::move(metric), options);
}

std::unique_ptr<IntervalEngine> bca_engine(std::unique_ptr<Metric>& metric,
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
  if (options.ends() == ReplicateInterval::kBca) {
    if (auto engine = bca_engine(metric, options)) return engine;
  }
  if (options.grouped()) {
    if (auto engine = curve_engine(metric, options)) return engine;
  } else {
    for (const Make make : {proportion_engine, cell_engine, area_engine}) {
      if (auto engine = make(metric, options)) return engine;
    }
  }
  return resampling_method(*metric) == IntervalMethod::kPoisson
             ? replicate_engine(metric, options)
             : jackknife_engine(metric, options);
}

std::unique_ptr<IntervalEngine> engine_of(std::unique_ptr<Metric>& metric,
                                          const IntervalOptions& options) {
  switch (options.method()) {
    case IntervalMethod::kWilson:
    case IntervalMethod::kClopperPearson:
      return proportion_engine(metric, options);
    case IntervalMethod::kLogitDelta:
    case IntervalMethod::kPoissonCells:
      return cell_engine(metric, options);
    case IntervalMethod::kDelong:
    case IntervalMethod::kNewcombe:
      return area_engine(metric, options);
    case IntervalMethod::kPoisson:
    case IntervalMethod::kDoubleOrNothing:
      return replicate_engine(metric, options);
    case IntervalMethod::kJackknife:
      return jackknife_engine(metric, options);
    default:
      return automatic_engine(metric, options);
  }
}

}  // namespace

std::unique_ptr<IntervalEngine> make_engine(std::unique_ptr<Metric> metric,
                                            const IntervalOptions& options) {
  options.validate();
  const std::string text = metric->repr();
  TORCH_CHECK_VALUE(!depends_on_batches(*metric),
                    "expected a metric whose value does not depend on the "
                    "batches that rows come in, got ",
                    text);
  TORCH_CHECK_VALUE(!is_extreme(metric->make_state()), metric->name(),
                    " has no interval: the largest and smallest values of "
                    "resampled rows do not vary like those of new rows");
  TORCH_CHECK_VALUE(!options.grouped() || !is_formula(options.method()),
                    "expected method poisson, double_or_nothing or jackknife "
                    "for grouped rows, got ",
                    text_of(options.method()));
  metric->set_dtype(at::kDouble);
  auto engine = engine_of(metric, options);
  TORCH_CHECK_VALUE(engine, "expected a metric that method ",
                    text_of(options.method()), " fits, got ", text);
  TORCH_CHECK_VALUE(
      options.ends() != ReplicateInterval::kBca || engine->has_bca(),
      "expected method poisson_cells, or replicates of an AUROC, for ends of "
      "bca, got ",
      text_of(engine->method()), " of ", text);
  return engine;
}

}  // namespace tally::internal::intervals

namespace tally {

IntervalMethod resampling_method(const Metric& metric) {
  return internal::intervals::is_sum_of_rows(metric.make_state())
             ? IntervalMethod::kPoisson
             : IntervalMethod::kJackknife;
}

}  // namespace tally
