#pragma once

// The members of MetricOf that are no templates themselves. Not in the class,
// where they would be inline: `extern template` spares whoever names a metric
// only those that are not.

#include "tally/metrics/metric_of.h"

namespace tally {

template <class Derived, class Accumulator, class Result, class Options>
MetricOf<Derived, Accumulator, Result, Options>::MetricOf(
    Options options, MetricOptions metric_options)
    : Metric(std::move(metric_options)),
      options_(internal::validated(std::move(options), class_name())),
      accumulator_(internal::make_accumulator<Accumulator>(
          options_, this->metric_options())) {
  accumulation_.add_column(
      {class_name(),
       internal::state_key_of<Accumulator>(options_, this->metric_options()),
       internal::identity_of(accumulator_),
       this->metric_options().compute_on_cpu()});
  accumulation_.add_remarks(0, internal::remarks_of(options_));
}

template <class Derived, class Accumulator, class Result, class Options>
MetricOf<Derived, Accumulator, Result, Options>::~MetricOf() = default;

template <class Derived, class Accumulator, class Result, class Options>
Result MetricOf<Derived, Accumulator, Result, Options>::forward(
    std::initializer_list<NamedInput> inputs) {
  return forward_state([&] {
    AnyState batch = this->observe_next(NamedInputs(inputs));
    return std::move(batch.get<State>());
  });
}

template <class Derived, class Accumulator, class Result, class Options>
Result MetricOf<Derived, Accumulator, Result, Options>::compute() {
  return this->compute_by(
      value_,
      [&](const internal::StateRows& rows) {
        return derived().evaluate(rows[0].template get<State>());
      },
      [&](Result& value) { value = finished(std::move(value)); });
}

template <class Derived, class Accumulator, class Result, class Options>
PendingValue<Result>
MetricOf<Derived, Accumulator, Result, Options>::sync_async() {
  return this->template sync_async_by<Result>([&] {
    return [snapshot = std::shared_ptr<const Metric>(clone())](
               const internal::StateRows& rows) {
      const auto& metric = static_cast<const Derived&>(*snapshot);
      return metric.finished(metric.evaluate(rows[0].template get<State>()));
    };
  });
}

template <class Derived, class Accumulator, class Result, class Options>
Results MetricOf<Derived, Accumulator, Result, Options>::compute_results() {
  Results results;
  internal::add_result(*this, compute(), "", results);
  return results;
}

template <class Derived, class Accumulator, class Result, class Options>
std::unique_ptr<Metric> MetricOf<Derived, Accumulator, Result, Options>::clone()
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

template <class Derived, class Accumulator, class Result, class Options>
std::string MetricOf<Derived, Accumulator, Result, Options>::name() const {
  return class_name();
}

template <class Derived, class Accumulator, class Result, class Options>
std::string MetricOf<Derived, Accumulator, Result, Options>::repr() const {
  return std::string(class_name()) + "(" + options_repr(options_) + ")";
}

template <class Derived, class Accumulator, class Result, class Options>
c10::ArrayRef<InputInfo>
MetricOf<Derived, Accumulator, Result, Options>::inputs() const {
  return internal::inputs_of(accumulator_);
}

template <class Derived, class Accumulator, class Result, class Options>
std::size_t MetricOf<Derived, Accumulator, Result, Options>::positional_inputs()
    const {
  if constexpr (internal::HasPositionalInputs<Accumulator>::value) {
    return accumulator_.positional_inputs();
  } else {
    return Metric::positional_inputs();
  }
}

template <class Derived, class Accumulator, class Result, class Options>
Dimensions MetricOf<Derived, Accumulator, Result, Options>::dimensions() const {
  return internal::dimensions_of(options_);
}

template <class Derived, class Accumulator, class Result, class Options>
bool MetricOf<Derived, Accumulator, Result, Options>::is_differentiable()
    const {
  return Derived::kIsDifferentiable;
}

template <class Derived, class Accumulator, class Result, class Options>
std::optional<bool>
MetricOf<Derived, Accumulator, Result, Options>::higher_is_better() const {
  return Derived::kHigherIsBetter;
}

template <class Derived, class Accumulator, class Result, class Options>
StateKey MetricOf<Derived, Accumulator, Result, Options>::source_key() const {
  return internal::source_key_of<Accumulator>(options_, metric_options());
}

template <class Derived, class Accumulator, class Result, class Options>
AnyState MetricOf<Derived, Accumulator, Result, Options>::derive(
    const AnyState& source) const {
  if constexpr (internal::HasSource<Accumulator>::value) {
    using Source = typename Accumulator::Source;
    return AnyState::of(
        accumulator_.derive(source.get<typename Source::State>()));
  } else {
    return Metric::derive(source);
  }
}

template <class Derived, class Accumulator, class Result, class Options>
void MetricOf<Derived, Accumulator, Result, Options>::set_metric_options(
    MetricOptions options) {
  const internal::Accumulation::Use use(accumulation_);
  Accumulator accumulator =
      internal::make_accumulator<Accumulator>(options_, options);
  accumulation_.set_options(std::move(options));
  accumulator_ = std::move(accumulator);
  accumulation_.column().key =
      internal::state_key_of<Accumulator>(options_, metric_options());
  accumulation_.column().on_cpu = metric_options().compute_on_cpu();
}

template <class Derived, class Accumulator, class Result, class Options>
void MetricOf<Derived, Accumulator, Result, Options>::observe_into(
    AnyState& fresh, Inputs inputs, const BatchOrigin& origin) const {
  if constexpr (internal::TakesAnyInputs<Accumulator>::value) {
    fresh.get<State>() = accumulator_.observe_inputs(inputs, origin);
  } else {
    fresh.get<State>() = internal::ObserveCall<Accumulator>::call(
        class_name(), inputs,
        [this](const auto&... args) { return this->observe(args...); });
  }
}

template <class Derived, class Accumulator, class Result, class Options>
void MetricOf<Derived, Accumulator, Result, Options>::evaluate_into(
    const AnyState& state, const std::string& name, Results& results) const {
  internal::add_result(*this, finished(derived().evaluate(state.get<State>())),
                       name, results);
}

template <class Derived, class Accumulator, class Result, class Options>
Result MetricOf<Derived, Accumulator, Result, Options>::finished(
    Result result) const {
  internal::for_each_part(
      result, [&](const std::string&, at::Tensor& part) { finish(part); });
  return result;
}

}  // namespace tally
