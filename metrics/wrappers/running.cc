#include "tally/metrics/wrappers/running.h"

#include <algorithm>
#include <vector>

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
      !outlasts_reset(identity), name,
      ": expected a metric that does not store computed values, got ",
      this->metric().repr());
  std::vector<std::pair<std::string, AnyState>> slots;
  for (std::int64_t i = 0; i < options_.window(); ++i) {
    slots.emplace_back(std::to_string(i), AnyState::of(Slot{-1, identity}));
  }
  empty_ = std::make_shared<const StateParts>(std::move(slots));
  accumulation_.add_group(name, key(), AnyState::of(*empty_),
                          metric_options().compute_on_cpu());
  accumulation_.add_remarks(0, this->metric().remarks());
  accumulation_.group().given =
      std::make_shared<internal::GivenWarnings>(internal::RowParts::kDisjoint);
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

}  // namespace tally
