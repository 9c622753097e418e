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
  void forget() {}
};

enum Part { kMetric, kExtremes };

// The extremes with `raw` among them.
ComputedExtremes with(const ComputedExtremes& extremes, const at::Tensor& raw) {
  const at::Tensor wide = raw.detach().to(at::kDouble);
  const at::Tensor nan = wide.isnan();
  const at::Tensor low = wide.masked_fill(nan, kInfinity);
  const at::Tensor high = wide.masked_fill(nan, -kInfinity);
  if (!extremes.min.defined()) return {low, high};
  TORCH_CHECK_VALUE(extremes.min.sizes() == low.sizes(), MinMaxMetric::kName,
                    ": expected values of one shape, got ", low.sizes(),
                    " after ", extremes.min.sizes());
  return {extremes.min.to(low.device()).minimum(low),
          extremes.max.to(low.device()).maximum(high)};
}

}  // namespace

MinMaxMetric::MinMaxMetric(OwnedMetric metric, Options)
    : MetricWrapper(kName, std::move(metric)) {
  set_state(AnyState::of(
      StateParts({{"metric", this->metric().make_state()},
                  {"computed", AnyState::of(ComputedExtremes())}})));
}

std::string MinMaxMetric::key() const {
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
  extremes = with(extremes, values.value());
  Results all;
  all.add("raw", values.value());
  all.add("min", extremes.min);
  all.add("max", extremes.max);
  add_results(std::move(all), name, results);
}

}  // namespace tally
