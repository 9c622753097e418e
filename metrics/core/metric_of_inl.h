#pragma once

// The members of MetricOf that are no templates themselves. Not in the class,
// where they would be inline: `extern template` spares whoever names a metric
// only those that are not.

#include "tally/metrics/metric_of.h"
#include "tally/metrics/sampling.h"

namespace tally {

template <class Derived, class Observer, class Result, class Options>
MetricOf<Derived, Observer, Result, Options>::MetricOf(
    Options options, MetricOptions metric_options)
    : Metric(std::move(metric_options)),
      options_(internal::validated(std::move(options), class_name())),
      observer_(
          internal::make_observer<Observer>(options_, this->metric_options())) {
  accumulation_.add_column(
      {class_name(),
       internal::state_key_of<Observer>(options_, this->metric_options()),
       internal::identity_of(observer_),
       internal::keeps_on_cpu(observer_, this->metric_options())});
  accumulation_.add_remarks(0, internal::remarks_of(options_));
}

template <class Derived, class Observer, class Result, class Options>
MetricOf<Derived, Observer, Result, Options>::~MetricOf() = default;

template <class Derived, class Observer, class Result, class Options>
Result MetricOf<Derived, Observer, Result, Options>::forward(
    std::initializer_list<NamedInput> inputs) {
  return forward_state(internal::device_of(NamedInputs(inputs)), [&] {
    AnyState batch = this->observe_next(NamedInputs(inputs));
    return std::move(batch.get<State>());
  });
}

template <class Derived, class Observer, class Result, class Options>
Result MetricOf<Derived, Observer, Result, Options>::compute() {
  return this->compute_by(
      value_,
      [&](const internal::StateRows& rows) {
        return derived().evaluate(rows[0].template get<State>());
      },
      [&](Result& value) { value = finished(std::move(value)); });
}

template <class Derived, class Observer, class Result, class Options>
PendingValue<Result>
MetricOf<Derived, Observer, Result, Options>::sync_async() {
  return this->template sync_async_by<Result>([&] {
    return [snapshot = std::shared_ptr<const Metric>(clone())](
               const internal::StateRows& rows) {
      const auto& metric = static_cast<const Derived&>(*snapshot);
      return metric.finished(metric.evaluate(rows[0].template get<State>()));
    };
  });
}

template <class Derived, class Observer, class Result, class Options>
Results MetricOf<Derived, Observer, Result, Options>::compute_results() {
  Results results;
  internal::add_result(*this, compute(), "", results);
  return results;
}

template <class Derived, class Observer, class Result, class Options>
std::unique_ptr<Metric> MetricOf<Derived, Observer, Result, Options>::clone()
    const {
  static_assert(sizeof(Derived) == sizeof(MetricOf),
                "a metric keeps all its data in options and state");
  std::unique_ptr<Derived> copy;
  if constexpr (std::is_constructible_v<Derived, const Options&,
                                        const MetricOptions&>) {
    copy = std::make_unique<Derived>(options_, metric_options());
  } else {
    copy = std::make_unique<Derived>();
    copy->set_metric_options(metric_options());
  }
  copy->accumulation_.copy_state(accumulation_);
  copy->dtype_ = dtype_;
  return copy;
}

template <class Derived, class Observer, class Result, class Options>
std::string MetricOf<Derived, Observer, Result, Options>::name() const {
  return class_name();
}

template <class Derived, class Observer, class Result, class Options>
std::string MetricOf<Derived, Observer, Result, Options>::repr() const {
  return std::string(class_name()) + "(" + options_repr(options_) + ")";
}

template <class Derived, class Observer, class Result, class Options>
c10::ArrayRef<InputInfo> MetricOf<Derived, Observer, Result, Options>::inputs()
    const {
  return internal::inputs_of(observer_);
}

template <class Derived, class Observer, class Result, class Options>
std::size_t MetricOf<Derived, Observer, Result, Options>::positional_inputs()
    const {
  if constexpr (internal::kHas<internal::PositionalInputsOf, Observer>) {
    return observer_.positional_inputs();
  } else {
    return Metric::positional_inputs();
  }
}

template <class Derived, class Observer, class Result, class Options>
Dimensions MetricOf<Derived, Observer, Result, Options>::dimensions() const {
  return internal::dimensions_of(options_);
}

template <class Derived, class Observer, class Result, class Options>
bool MetricOf<Derived, Observer, Result, Options>::is_differentiable() const {
  return Derived::kIsDifferentiable;
}

template <class Derived, class Observer, class Result, class Options>
std::optional<bool>
MetricOf<Derived, Observer, Result, Options>::higher_is_better() const {
  return Derived::kHigherIsBetter;
}

template <class Derived, class Observer, class Result, class Options>
MetricSampling MetricOf<Derived, Observer, Result, Options>::sampling() const {
  MetricSampling sampling;
  if constexpr (internal::kHas<internal::SamplingOf, Observer, Derived>) {
    sampling = Observer::sampling(derived());
  }
  if constexpr (internal::kHas<internal::UnitOf, Observer>) {
    sampling.unit = Observer::kUnit;
  }
  if constexpr (internal::kHas<internal::UnitInputOf, Observer>) {
    sampling.unit_input = Observer::kUnitInput;
  }
  if constexpr (internal::kHas<internal::SummaryOf, Derived>) {
    sampling.range = ValueRange::parse(Derived::kSummary.range);
  }
  if constexpr (internal::kHas<internal::NoIntervalOf, Derived>) {
    sampling.refusal = Derived::kNoInterval;
  } else if constexpr (internal::kHas<internal::NoIntervalOf, Observer>) {
    sampling.refusal = Observer::kNoInterval;
  }
  sampling.is_selected = internal::kHas<internal::IsSelectedOf, Derived>;
  return sampling;
}

template <class Derived, class Observer, class Result, class Options>
StateKey MetricOf<Derived, Observer, Result, Options>::source_key() const {
  return internal::source_key_of<Observer>(options_, metric_options());
}

template <class Derived, class Observer, class Result, class Options>
AnyState MetricOf<Derived, Observer, Result, Options>::derive(
    const AnyState& source) const {
  if constexpr (internal::kHas<internal::SourceOf, Observer>) {
    using Source = typename Observer::Source;
    return AnyState::of(observer_.derive(source.get<typename Source::State>()));
  } else {
    return Metric::derive(source);
  }
}

template <class Derived, class Observer, class Result, class Options>
void MetricOf<Derived, Observer, Result, Options>::set_metric_options(
    MetricOptions options) {
  const internal::Accumulation::Use use(accumulation_);
  Observer observer = internal::make_observer<Observer>(options_, options);
  accumulation_.set_options(std::move(options));
  observer_ = std::move(observer);
  accumulation_.column().key =
      internal::state_key_of<Observer>(options_, metric_options());
  accumulation_.column().on_cpu =
      internal::keeps_on_cpu(observer_, metric_options());
}

template <class Derived, class Observer, class Result, class Options>
void MetricOf<Derived, Observer, Result, Options>::observe_into(
    AnyState& fresh, Inputs inputs, const BatchOrigin& origin) const {
  if constexpr (internal::TakesAnyInputs<Observer>::value) {
    fresh.get<State>() = observer_.observe_inputs(inputs, origin);
  } else {
    fresh.get<State>() = internal::ObserveCall<Observer>::call(
        class_name(), inputs,
        [this](const auto&... args) { return this->observe(args...); });
  }
}

template <class Derived, class Observer, class Result, class Options>
void MetricOf<Derived, Observer, Result, Options>::evaluate_into(
    const AnyState& state, const std::string& name, Results& results) const {
  internal::add_result(*this, finished(derived().evaluate(state.get<State>())),
                       name, results);
}

template <class Derived, class Observer, class Result, class Options>
Result MetricOf<Derived, Observer, Result, Options>::finished(
    Result result) const {
  internal::for_each_part(
      result, [&](const std::string&, at::Tensor& part) { finish(part); });
  return result;
}

}  // namespace tally
