#include "tally/metrics/wrappers/running.h"

#include <algorithm>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/wrappers/min_max_wrapper.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace {

// A batch in the window, or none. That of step s lies in slot s % window, until
// one of a later step takes its place.
struct Slot {
  std::int64_t step = -1;
  AnyState batch;

  void fields(Fields& f) {
    f("step", step, Merge::kMax);
    for (const Field& field : batch.fields()) f.add(field);
  }
  static Slot merge(const Slot& a, const Slot& b) {
    if (a.step != b.step) return a.step > b.step ? a : b;
    Slot both = a;
    tally::merge(both.batch, b.batch, Running::kName);
    return both;
  }
};

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
};

ComputedExtremes extremes_of(const at::Tensor& raw) {
  const at::Tensor wide = raw.detach().to(at::kDouble);
  const at::Tensor nan = wide.isnan();
  return {wide.masked_fill(nan, internal::kInfinity),
          wide.masked_fill(nan, -internal::kInfinity)};
}

}  // namespace

void RunningOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(window_ > 0, metric,
                    ": expected window to be at least 1, got ", window_);
}

Running::Running(OwnedMetric metric, Options options)
    : Running(kName, std::move(metric), options) {}

Running::Running(const char* name, OwnedMetric metric, Options options)
    : MetricWrapper(name, std::move(metric)), options_(options) {
  options_.validate(name);
  const AnyState identity = this->metric().make_state();
  TORCH_CHECK_VALUE(
      !this->metric().make_kept().defined(), name,
      ": expected a metric that does not store computed values, got ",
      this->metric().repr());
  std::vector<std::pair<std::string, AnyState>> slots;
  for (std::int64_t i = 0; i < options_.window(); ++i) {
    slots.emplace_back(std::to_string(i), AnyState::of(Slot{-1, identity}));
  }
  empty_ = std::make_shared<const StateParts>(std::move(slots));
  set_state(AnyState::of(*empty_), internal::RowParts::kDisjoint, name);
}

StateKey Running::key() const {
  return std::string(kName) + "(" + options_state_key(options_) + "; " +
         metric().state_key() + ")";
}

AnyState Running::make_batch() const {
  return AnyState::of(StateParts(empty_, {0, empty_->parts().front()}));
}

void Running::observe_into(AnyState& fresh, Inputs inputs,
                           const BatchOrigin& origin) const {
  const std::int64_t step = origin.index();
  const auto place = static_cast<std::size_t>(step % options_.window());
  StateParts& slots = fresh.get<StateParts>();
  LonePart* const lone = slots.lone_part();
  if (lone) lone->place = place;
  Slot& slot = (lone ? lone->state : slots.parts()[place]).get<Slot>();
  metric().observe_into(slot.batch, inputs, origin);
  slot.step = step;
}

void Running::evaluate_into(const AnyState& state, const std::string& name,
                            Results& results) const {
  if (const LonePart* lone = state.get<StateParts>().lone_part()) {
    return add_results(results_of(lone->state.get<Slot>().batch), name,
                       results);
  }
  std::vector<const Slot*> slots;
  std::int64_t last = -1;
  for (const AnyState& part : state.get<StateParts>().parts()) {
    slots.push_back(&part.get<Slot>());
    last = std::max(last, slots.back()->step);
  }
  std::sort(slots.begin(), slots.end(),
            [](const Slot* a, const Slot* b) { return a->step < b->step; });
  AnyState window;
  for (const Slot* slot : slots) {
    // A slot that was empty on the rank that is ahead may hold an old batch.
    if (slot->step < 0 || slot->step <= last - options_.window()) continue;
    if (window.defined()) {
      merge(window, slot->batch, kName);
    } else {
      window = slot->batch;
    }
  }
  if (!window.defined()) window = metric().make_state();
  add_results(results_of(window), name, results);
}

MinMaxMetric::MinMaxMetric(OwnedMetric metric, Options)
    : MetricWrapper(kName, std::move(metric)) {
  set_state(this->metric().make_state());
}

StateKey MinMaxMetric::key() const { return metric().state_key(); }

AnyState MinMaxMetric::make_kept() const {
  return AnyState::of(ComputedExtremes());
}

void MinMaxMetric::observe_into(AnyState& fresh, Inputs inputs,
                                const BatchOrigin& origin) const {
  metric().observe_into(fresh, inputs, origin);
}

void MinMaxMetric::compute_into(const AnyState& state, AnyState& kept,
                                const std::string& name,
                                Results& results) const {
  Results values = results_of(state);
  TORCH_CHECK_VALUE(values.size() == 1, kName, ": expected ", metric().repr(),
                    " to return one tensor, got ", values.size());
  auto& extremes = kept.get<ComputedExtremes>();
  extremes = ComputedExtremes::merge(extremes, extremes_of(values.value()));
  Results all;
  const Dimensions dimensions = values.dimensions(values.begin()->first);
  all.add("raw", values.value(), dimensions);
  all.add("min", extremes.min, dimensions);
  all.add("max", extremes.max, dimensions);
  add_results(std::move(all), name, results);
}

}  // namespace tally
