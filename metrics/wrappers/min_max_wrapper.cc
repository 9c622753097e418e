#include "tally/metrics/wrappers/min_max_wrapper.h"

#include <limits>

#include "tally/state/state_parts.h"

namespace tally {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of the values computed so far; both undefined if there are none.
struct ComputedExtremes {
  at::Tensor min, max;
  void fields(Fields& f) {
    f("min", min, Merge::kMin)("max", max, Merge::kMax);
  }
  // What was computed before may lie on another device than what comes now.
  static ComputedExtremes merge(const ComputedExtremes& a,
                                const ComputedExtremes& b) {
    if (!a.min.defined()) return b;
    if (!b.min.defined()) return a;
    TORCH_CHECK_VALUE(a.min.sizes() == b.min.sizes(), MinMaxMetric::kName,
                      ": expected values of one shape, got ", b.min.sizes(),
                      " after ", a.min.sizes());
    return {a.min.to(b.min.device()).minimum(b.min),
            a.max.to(b.max.device()).maximum(b.max)};
  }
  void forget() {}
};

ComputedExtremes extremes_of(const at::Tensor& raw) {
  const at::Tensor wide = raw.detach().to(at::kDouble);
  const at::Tensor nan = wide.isnan();
  return {wide.masked_fill(nan, kInfinity), wide.masked_fill(nan, -kInfinity)};
}

enum Part { kMetric, kExtremes };

}  // namespace

MinMaxMetric::MinMaxMetric(OwnedMetric metric, Options)
    : MetricWrapper(kName, std::move(metric)) {
  set_state(AnyState::of(
      StateParts({{"metric", this->metric().make_state()},
                  {"computed", AnyState::of(ComputedExtremes())}})));
}

StateKey MinMaxMetric::key() const {
  return std::string(kName) + "(" + metric().state_key() + ")";
}

void MinMaxMetric::observe_into(AnyState& fresh, Inputs inputs,
                                const BatchOrigin& origin) const {
  metric().observe_into(fresh.get<StateParts>().parts()[kMetric], inputs,
                        origin);
}

void MinMaxMetric::evaluate_into(const AnyState& state, const std::string& name,
                                 Results& results) const {
  AnyState copy = state;
  compute_into(copy, name, results);
}

void MinMaxMetric::compute_into(AnyState& state, const std::string& name,
                                Results& results) const {
  auto& parts = state.get<StateParts>().parts();
  Results values = results_of(parts[kMetric]);
  TORCH_CHECK_VALUE(values.size() == 1, kName, ": expected ", metric().repr(),
                    " to give one tensor, got ", values.size());
  auto& extremes = parts[kExtremes].get<ComputedExtremes>();
  extremes = ComputedExtremes::merge(extremes, extremes_of(values.value()));
  Results all;
  const Dimensions dimensions = values.dimensions(values.begin()->first);
  all.add("raw", values.value(), dimensions);
  all.add("min", extremes.min, dimensions);
  all.add("max", extremes.max, dimensions);
  add_results(std::move(all), name, results);
}

}  // namespace tally
