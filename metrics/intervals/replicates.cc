#include "tally/metrics/intervals/replicates.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/comparison_engine.h"
#include "tally/metrics/intervals/drawn_replicates.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/unit_statistics.h"

namespace tally {
namespace internal::intervals {

std::optional<Replicates> drawn_replicates(const IntervalEngine& engine,
                                           const AnyState& state,
                                           const RowCount& row_count) {
  auto drawn = engine.draw(state, row_count);
  if (!drawn) return std::nullopt;
  Replicates replicates;
  replicates.metric = engine.metric().repr();
  replicates.method = engine.method();
  replicates.seed = engine.options().seed();
  replicates.n = row_count.rows;
  replicates.digest = row_count.digest;
  replicates.is_selected = engine.metric().sampling().is_selected;
  std::int64_t count = engine.options().replicates();
  if (engine.method() == IntervalMethod::kJackknife) {
    count = static_cast<std::int64_t>(drawn->ids.size());
    const MetricSampling sampling = engine.metric().sampling();
    ReplicateUnits units;
    units.unit = row_count.are_groups ? "group" : sampling.unit;
    units.are_groups = row_count.are_groups;
    units.units = drawn->basis.units;
    units.counted = drawn->counted;
    units.ids = std::move(drawn->ids);
    units.sizes = std::move(drawn->basis.sizes);
    units.deciding = drawn->basis.deciding;
    units.range = sampling.range;
    units.are_means = std::move(drawn->are_means);
    units.matches = std::move(drawn->matches);
    replicates.by_unit = std::move(units);
  }
  auto element = drawn->replicates.begin();
  for (const auto& [name, value] : drawn->value.results) {
    const std::int64_t elements = value.numel();
    at::Tensor numbers = at::empty({elements, count}, at::kDouble);
    auto* into = numbers.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < elements; ++i, ++element) {
      into = std::copy(element->begin(), element->end(), into);
    }
    auto sizes = value.sizes().vec();
    sizes.insert(sizes.begin(), count);
    replicates.values.add(name, value);
    replicates.replicates.add(name, numbers.t().contiguous().reshape(sizes));
  }
  return replicates;
}

}  // namespace internal::intervals

namespace intervals = internal::intervals;

namespace {

template <class Value>
void check_same(const char* what, const Value& first, const Value& second) {
  TORCH_CHECK_VALUE(first == second, "compare: expected the same ", what,
                    ", got ", first, " and ", second);
}

double bootstrap_p_value(const std::vector<double>& differences) {
  std::int64_t up = 0;
  std::int64_t down = 0;
  for (const double difference : differences) {
    up += difference >= 0;
    down += difference <= 0;
  }
  const double tail = 1 + static_cast<double>(std::min(up, down));
  return std::min(1.0,
                  2 * tail / (1 + static_cast<double>(differences.size())));
}

/// A difference with its interval and p-value.
struct Tested {
  intervals::Bounds bounds;
  double p_value = internal::kNaN;
};

Tested test_of(double difference, std::vector<double> differences,
               double level) {
  Tested tested;
  // NaN are left out.
  tested.bounds = intervals::replicate_bounds(
      difference, differences, ReplicateInterval::kPercentile, level);
  if (!std::isnan(tested.bounds.low)) {
    tested.p_value = bootstrap_p_value(differences);
  } else if (difference == 0 &&
             tested.bounds.flags.contains(IntervalFlag::kNoVariation)) {
    tested.p_value = 1;
  }
  return tested;
}

/// An element's values without each unit, of both models.
struct PairedUnits {
  intervals::UnitValues first;
  intervals::UnitValues second;
};

Tested unit_test_of(PairedUnits values, const ReplicateUnits* units,
                    std::size_t element, double level, std::int64_t seed) {
  intervals::UnitBasis basis;
  ValueRange range;
  std::vector<std::int64_t> ids;
  if (units != nullptr) {
    basis.sizes = units->sizes;
    basis.units = units->units;
    basis.are_groups = units->are_groups;
    basis.deciding = units->deciding;
    range = units->range;
    ids = units->ids;
    if (units->are_means[element]) {
      for (auto* own : {&values.first, &values.second}) {
        own->alone = intervals::alone_by_mean(own->value, own->without, basis);
      }
    }
  } else {
    // Blocks of a file of version 1.
    basis.sizes.assign(values.first.without.size(), 1);
    basis.units = internal::kInfinity;
  }
  const intervals::UnitDifference difference = intervals::unit_difference(
      values.first, values.second, basis, ids, range, level, seed);
  Tested tested;
  tested.bounds.low = difference.ends.low;
  tested.bounds.high = difference.ends.high;
  tested.bounds.standard_error = difference.spread.standard_error;
  tested.bounds.degrees_of_freedom = difference.spread.degrees_of_freedom;
  tested.bounds.flags = difference.spread.flags;
  tested.bounds.flags.add(IntervalFlag::kSummarized, units == nullptr);
  for (std::size_t k = 0; k < values.first.without.size(); ++k) {
    tested.bounds.undefined +=
        std::isnan(values.first.without[k] - values.second.without[k]);
  }
  tested.p_value = difference.p_value;
  return tested;
}

/// What both rest on: the second's may be of other rows that decide.
ReplicateUnits both_units(const Replicates& first, const Replicates& second) {
  ReplicateUnits units = *first.by_unit;
  const ReplicateUnits& other = *second.by_unit;
  TORCH_CHECK_VALUE(units.ids == other.ids && units.sizes == other.sizes,
                    "compare: expected the same units to count in both, got ",
                    units.ids.size(), " and ", other.ids.size(),
                    " with other ids or rows");
  if (!(units.deciding <= other.deciding)) units.deciding = other.deciding;
  for (std::size_t i = 0; i < units.are_means.size(); ++i) {
    units.are_means[i] =
        units.are_means[i] && i < other.are_means.size() && other.are_means[i];
  }
  return units;
}

Comparisons compare_matches(const Replicates& first, const Replicates& second,
                            double level) {
  intervals::PairedMatches counts;
  const auto& own = first.by_unit->matches;
  const auto& other = second.by_unit->matches;
  for (std::size_t i = 0; i < own.size(); ++i) counts.add(own[i], other[i]);
  Comparison part;
  for (at::Tensor* tensor : intervals::tensors_of(part)) {
    *tensor = at::full({}, internal::kNaN, at::kDouble);
  }
  part.degrees_of_freedom.fill_(internal::kInfinity);
  part.level = level;
  part.method = ComparisonMethod::kMcnemar;
  part.n = first.n;
  part.unit = first.by_unit->unit;
  part.flags.add(IntervalFlag::kSelected, first.is_selected);
  intervals::fill_mcnemar(counts, part);
  return {{"", std::move(part)}};
}

}  // namespace

ComparisonMethod intervals::comparison_method(IntervalMethod method) {
  switch (method) {
    case IntervalMethod::kPoisson:
      return ComparisonMethod::kPoisson;
    case IntervalMethod::kDoubleOrNothing:
      return ComparisonMethod::kDoubleOrNothing;
    case IntervalMethod::kJackknife:
      return ComparisonMethod::kJackknife;
    default:
      TORCH_CHECK_VALUE(false,
                        "compare: expected replicates of method poisson, "
                        "double_or_nothing or jackknife, got ",
                        intervals::text_of(method));
  }
}

Comparisons compare(const Replicates& first, const Replicates& second,
                    double level) {
  intervals::check_level(level);
  check_same("metric", first.metric, second.metric);
  check_same("method", intervals::text_of(first.method),
             intervals::text_of(second.method));
  check_same("seed", first.seed, second.seed);
  check_same("number of rows", first.n, second.n);
  TORCH_CHECK_VALUE(first.digest == second.digest,
                    "compare: expected the same ids of rows, got others");
  const bool is_jackknife = first.method == IntervalMethod::kJackknife;
  std::optional<ReplicateUnits> units;
  if (is_jackknife && first.by_unit && second.by_unit) {
    units = both_units(first, second);
  }
  if (units && !units->matches.empty() &&
      units->matches.size() == second.by_unit->matches.size()) {
    return compare_matches(first, second, level);
  }
  TORCH_CHECK_VALUE(
      !is_jackknife || first.by_unit.has_value() == second.by_unit.has_value(),
      "compare: expected both files to be of version 1, or both of 2: make "
      "that of version 1 again");
  Comparisons parts;
  std::size_t place = 0;
  for (const auto& [name, value] : first.values) {
    TORCH_CHECK_VALUE(second.values.contains(name),
                      "compare: expected the same parts, got '", name,
                      "' in one");
    const at::Tensor& a = first.replicates[name];
    const at::Tensor& b = second.replicates[name];
    check_same("sizes of replicates", c10::str(a.sizes()), c10::str(b.sizes()));
    Comparison part;
    part.level = level;
    part.method = intervals::comparison_method(first.method);
    part.n = first.n;
    part.counted = units ? units->counted : static_cast<double>(first.n);
    part.units = units ? units->units : static_cast<double>(first.n);
    if (units) part.unit = units->unit;
    part.flags.add(IntervalFlag::kSelected, first.is_selected);
    part.flags.add(
        IntervalFlag::kFewUnits,
        !is_jackknife && static_cast<double>(first.n) < intervals::kFewRows);
    part.replicates = a.size(0);
    part.first = value;
    part.second = second.values[name];
    part.difference = value.sub(part.second).contiguous();
    for (at::Tensor* tensor :
         {&part.low, &part.high, &part.p_value, &part.standard_error,
          &part.degrees_of_freedom}) {
      *tensor = at::empty(value.sizes(), at::kDouble);
    }
    const std::int64_t elements = value.numel();
    const at::Tensor of_first =
        a.reshape({a.size(0), elements}).t().contiguous();
    const at::Tensor of_second =
        b.reshape({b.size(0), elements}).t().contiguous();
    for (std::int64_t i = 0; i < elements; ++i, ++place) {
      const auto column = [&](const at::Tensor& all) {
        const auto* const begin = all.const_data_ptr<double>() + i * a.size(0);
        return std::vector<double>(begin, begin + a.size(0));
      };
      std::vector<double> own = column(of_first);
      std::vector<double> other = column(of_second);
      Tested tested;
      if (is_jackknife) {
        PairedUnits values;
        values.first.value = value.reshape(-1)[i].item<double>();
        values.second.value = part.second.reshape(-1)[i].item<double>();
        values.first.without = std::move(own);
        values.second.without = std::move(other);
        tested = unit_test_of(std::move(values), units ? &*units : nullptr,
                              place, level, first.seed);
      } else {
        for (std::size_t r = 0; r < own.size(); ++r) own[r] -= other[r];
        tested = test_of(part.difference.const_data_ptr<double>()[i],
                         std::move(own), level);
      }
      part.low.mutable_data_ptr<double>()[i] = tested.bounds.low;
      part.high.mutable_data_ptr<double>()[i] = tested.bounds.high;
      part.p_value.mutable_data_ptr<double>()[i] = tested.p_value;
      part.standard_error.mutable_data_ptr<double>()[i] =
          tested.bounds.standard_error;
      part.degrees_of_freedom.mutable_data_ptr<double>()[i] =
          tested.bounds.degrees_of_freedom;
      part.undefined = std::max(part.undefined, tested.bounds.undefined);
      part.flags.add(tested.bounds.flags);
    }
    parts.add(name, std::move(part));
  }
  return parts;
}

}  // namespace tally
