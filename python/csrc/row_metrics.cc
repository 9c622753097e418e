#include <torch/library.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/option_names.h"
#include "tally/python/csrc/row_methods.h"

namespace tally::python {
namespace {

using at::Tensor;

/// Name, value, low, high and standard error; level, method, rows, replicates
/// and how many of these are undefined; degrees of freedom, rows that count,
/// units and what they are, and flags.
using IntervalParts =
    std::tuple<std::string, Tensor, Tensor, Tensor, Tensor, double, std::string,
               std::int64_t, std::int64_t, std::int64_t, Tensor, double, double,
               std::string, std::vector<std::string>>;

IntervalParts interval_parts(const std::string& name,
                             const Interval& interval) {
  return {name,
          interval.value,
          interval.low,
          interval.high,
          interval.standard_error,
          interval.level,
          words_of(interval.method),
          interval.n,
          interval.replicates,
          interval.undefined,
          interval.degrees_of_freedom,
          interval.counted,
          interval.units,
          interval.unit,
          interval.flags.names()};
}

IntervalOptions interval_options(double level, const std::string& method,
                                 const std::string& ends,
                                 std::int64_t replicates, std::int64_t blocks,
                                 std::int64_t seed, bool grouped,
                                 bool stratified) {
  return IntervalOptions()
      .level(level)
      .method(choice_of<IntervalMethod>("method", method))
      .ends(choice_of<ReplicateInterval>("ends", ends))
      .replicates(replicates)
      .blocks(blocks)
      .seed(seed)
      .grouped(grouped)
      .stratified(stratified);
}

}  // namespace

void define_interval_metric(torch::Library& m) {
  using Self = ObjectPtr<IntervalMetric>;
  auto c = m.class_<Object<IntervalMetric>>("IntervalMetric");
  c.def(torch::init([](const ObjectPtr<Metric>& metric, double level,
                       const std::string& method, const std::string& ends,
                       std::int64_t replicates, std::int64_t blocks,
                       std::int64_t seed, bool grouped, bool stratified) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    return make_object(std::make_shared<IntervalMetric>(
        std::move(copy), interval_options(level, method, ends, replicates,
                                          blocks, seed, grouped, stratified)));
  }));
  define_rows<IntervalMetric>(c);
  c.def("compute", [](const Self& self) {
    return self->use([](IntervalMetric& held) {
      std::vector<IntervalParts> parts;
      for (const auto& [name, interval] : held.compute()) {
        parts.push_back(interval_parts(name, interval));
      }
      return parts;
    });
  });
}

namespace {

/// Name, first, second, difference, low, high and p-value; level, method, rows,
/// replicates and how many of these are undefined; standard error, and what an
/// interval ends with.
using ComparisonParts =
    std::tuple<std::string, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor,
               double, std::string, std::int64_t, std::int64_t, std::int64_t,
               Tensor, Tensor, double, double, std::string,
               std::vector<std::string>>;

ComparisonParts comparison_parts(const std::string& name,
                                 const Comparison& comparison) {
  return {name,
          comparison.first,
          comparison.second,
          comparison.difference,
          comparison.low,
          comparison.high,
          comparison.p_value,
          comparison.level,
          words_of(comparison.method),
          comparison.n,
          comparison.replicates,
          comparison.undefined,
          comparison.standard_error,
          comparison.degrees_of_freedom,
          comparison.counted,
          comparison.units,
          comparison.unit,
          comparison.flags.names()};
}

}  // namespace

void define_model_comparison(torch::Library& m) {
  using Self = ObjectPtr<ModelComparison>;
  auto c = m.class_<Object<ModelComparison>>("ModelComparison");
  c.def(torch::init([](const ObjectPtr<Metric>& metric, double level,
                       const std::string& method, std::int64_t replicates,
                       std::int64_t blocks, std::int64_t seed, bool grouped) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    return make_object(std::make_shared<ModelComparison>(
        std::move(copy),
        ModelComparisonOptions()
            .level(level)
            .method(choice_of<ComparisonMethod>("method", method))
            .replicates(replicates)
            .blocks(blocks)
            .seed(seed)
            .grouped(grouped)));
  }));
  define_rows<ModelComparison>(c);
  c.def("compute", [](const Self& self) {
    return self->use([](ModelComparison& held) {
      std::vector<ComparisonParts> parts;
      for (const auto& [name, comparison] : held.compute()) {
        parts.push_back(comparison_parts(name, comparison));
      }
      return parts;
    });
  });
}

}  // namespace tally::python
