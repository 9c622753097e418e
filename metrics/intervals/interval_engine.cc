#include "tally/metrics/intervals/interval_engine.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/unit_statistics.h"

namespace tally {
namespace internal::intervals {
namespace {

bool too_many_undefined(std::int64_t undefined, std::size_t all) {
  constexpr std::int64_t kOneIn = 20;
  return undefined * kOneIn > static_cast<std::int64_t>(all);
}

// Interpolated; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double rest = place - static_cast<double>(below);
  return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

double deviation(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1));
}

std::pair<double, double> bca_levels(double value,
                                     const std::vector<double>& sorted,
                                     double tail, double acceleration) {
  const auto low = std::lower_bound(sorted.begin(), sorted.end(), value);
  const auto high = std::upper_bound(sorted.begin(), sorted.end(), value);
  const double below =
      static_cast<double>((low - sorted.begin()) + (high - sorted.begin())) /
      2 / static_cast<double>(sorted.size());
  if (below <= 0) return {0, 0};
  if (below >= 1) return {1, 1};
  const double bias = normal_quantile(below);
  const auto shifted = [&](double p) {
    const double z = bias + normal_quantile(p);
    return normal_cdf(bias + z / (1 - acceleration * z));
  };
  return {shifted(tail), shifted(1 - tail)};
}

IntervalBounds logit_normal_ends(double value, double width) {
  TORCH_CHECK_VALUE(value >= 0 && value <= 1,
                    "expected a value in [0, 1] for ends=logit_normal, got ",
                    value);
  if (value == 0 || value == 1) {
    return {std::max(value - width, 0.0), std::min(value + width, 1.0)};
  }
  return scaled_ends(value, width, 1, {0, 1});
}

}  // namespace

Bounds Bounds::of(const UnitInterval& interval) {
  Bounds bounds;
  bounds.low = interval.ends.low;
  bounds.high = interval.ends.high;
  bounds.standard_error = interval.spread.standard_error;
  bounds.degrees_of_freedom = interval.spread.degrees_of_freedom;
  bounds.undefined = interval.spread.undefined;
  bounds.flags = interval.spread.flags;
  bounds.method = interval.method;
  return bounds;
}

AnyState IntervalEngine::observe_batch(const Metric& metric, Inputs inputs) {
  AnyState batch = metric.make_batch();
  metric.observe_into(batch, inputs, BatchOrigin());
  return batch;
}

Interval IntervalEngine::unfilled(const RowCount& count,
                                  std::int64_t replicates) const {
  const MetricSampling sampling = metric_->sampling();
  Interval interval;
  interval.level = options_.level();
  interval.method = method();
  interval.n = count.rows;
  interval.counted = static_cast<double>(count.weighed);
  interval.units = static_cast<double>(count.units);
  interval.unit = count.are_groups ? "group" : sampling.unit;
  interval.replicates = replicates;
  interval.flags.add(IntervalFlag::kSelected, sampling.is_selected);
  return interval;
}

FlatResult flat_result(const Metric& metric, const AnyState& state) {
  FlatResult flat;
  Results results;
  metric.evaluate_into(state, "", results);
  for (const auto& [name, part] : results) {
    TORCH_CHECK_VALUE(part.defined(), "expected a result for '", name,
                      "', got an undefined tensor");
    const at::Tensor values =
        part.detach().to(at::kCPU, at::kDouble).contiguous().clone();
    const auto* const begin = values.const_data_ptr<double>();
    flat.values.insert(flat.values.end(), begin, begin + values.numel());
    flat.results.add(name, values, results.dimensions(name));
  }
  return flat;
}

Intervals make_intervals(const FlatResult& value,
                         const std::vector<Bounds>& bounds,
                         const Interval& unfilled) {
  Intervals intervals;
  auto next = bounds.begin();
  for (const auto& [name, part] : value.results) {
    Interval interval = unfilled;
    interval.value = part;
    interval.dimensions = value.results.dimensions(name);
    const auto filled = [&](double Bounds::*end) {
      at::Tensor tensor = at::empty(interval.value.sizes(), at::kDouble);
      auto* into = tensor.mutable_data_ptr<double>();
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        *into++ = next[i].*end;
      }
      return tensor;
    };
    interval.low = filled(&Bounds::low);
    interval.high = filled(&Bounds::high);
    interval.standard_error = filled(&Bounds::standard_error);
    interval.degrees_of_freedom = filled(&Bounds::degrees_of_freedom);
    bool has_one_method = true;
    for (std::int64_t i = 0; i < part.numel(); ++i, ++next) {
      interval.undefined = std::max(interval.undefined, next->undefined);
      interval.flags.add(next->flags);
      has_one_method = has_one_method && next->method == next[-i].method;
    }
    if (has_one_method && part.numel() > 0 &&
        next[-1].method != IntervalMethod::kAuto) {
      interval.method = next[-1].method;
    }
    intervals.add(name, std::move(interval));
  }
  return intervals;
}

Bounds replicate_bounds(double value, std::vector<double>& replicates,
                        ReplicateInterval ends, double level,
                        double acceleration) {
  const std::size_t all = replicates.size();
  replicates.erase(std::remove_if(replicates.begin(), replicates.end(),
                                  [](double each) { return each != each; }),
                   replicates.end());
  Bounds bounds;
  bounds.undefined = static_cast<std::int64_t>(all - replicates.size());
  const bool has_too_many = too_many_undefined(bounds.undefined, all);
  bounds.flags.add(IntervalFlag::kUndefinedBlocks, has_too_many);
  if (value != value || has_too_many || replicates.size() < 2) return bounds;
  const double tail = (1 - level) / 2;
  bounds.standard_error = deviation(replicates);
  // All equal, which says nothing of other rows.
  if (!varies(value, bounds.standard_error)) {
    bounds.flags.add(IntervalFlag::kNoVariation);
    return bounds;
  }
  const double width = normal_quantile(1 - tail) * bounds.standard_error;
  switch (ends) {
    case ReplicateInterval::kNormal:
      bounds.low = value - width;
      bounds.high = value + width;
      return bounds;
    case ReplicateInterval::kLogitNormal: {
      const IntervalBounds found = logit_normal_ends(value, width);
      bounds.low = found.low;
      bounds.high = found.high;
      return bounds;
    }
    default:
      break;
  }
  std::sort(replicates.begin(), replicates.end());
  const auto levels = ends == ReplicateInterval::kBca
                          ? bca_levels(value, replicates, tail, acceleration)
                          : std::make_pair(tail, 1 - tail);
  bounds.low = quantile(replicates, levels.first);
  bounds.high = quantile(replicates, levels.second);
  return bounds;
}

std::int64_t rows_of_inputs(Inputs inputs) {
  std::int64_t rows = -1;
  for (const InputRef& input : inputs) {
    const std::int64_t own = input.rows();
    if (own < 0) continue;
    TORCH_CHECK_VALUE(rows == -1 || own == rows,
                      "expected inputs with the same number of rows, got ",
                      rows, " and ", own);
    rows = own;
  }
  return rows == -1 ? 1 : rows;
}

void check_counted(const Metric& metric, Inputs inputs, std::int64_t dims) {
  if (inputs.size() < 2) return;  // refused by the metric
  const auto* const target = inputs[1].as<at::Tensor>();
  TORCH_CHECK_VALUE(
      target == nullptr || !target->defined() || target->dim() <= dims,
      metric.name(), ": expected one sample per row, got target of sizes ",
      target->sizes(), "; use method poisson or jackknife");
  TORCH_CHECK_VALUE(inputs.size() < 3 || inputs[2].is_none(), metric.name(),
                    ": expected no weight; use method poisson or jackknife");
}

}  // namespace internal::intervals

void for_each_tensor(Interval& interval,
                     c10::function_ref<void(at::Tensor&)> visit) {
  for (at::Tensor* each :
       {&interval.value, &interval.low, &interval.high,
        &interval.standard_error, &interval.degrees_of_freedom}) {
    visit(*each);
  }
}

Results Intervals::results() const {
  Results results;
  for (const auto& [name, interval] : *this) {
    const std::string prefix = name.empty() ? "" : name + ".";
    const Dimensions& dimensions = interval.dimensions;
    results.add(name.empty() ? "value" : name, interval.value, dimensions);
    results.add(prefix + "low", interval.low, dimensions);
    results.add(prefix + "high", interval.high, dimensions);
  }
  return results;
}

void IntervalOptions::validate() const {
  internal::intervals::check_level(level_);
  TORCH_CHECK_VALUE(replicates_ >= 2, "expected at least 2 replicates, got ",
                    replicates_);
  TORCH_CHECK_VALUE(blocks_ == 0 || blocks_ >= 2,
                    "expected at least 2 blocks, got ", blocks_);
}

}  // namespace tally
