#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tally/metrics/core/input_conversion.h"
#include "tally/metrics/metric.h"
#include "tally/state/detected.h"
#include "tally/state/outside_inference.h"

/// Traits of observers and options used by MetricOf.
namespace tally {

/// Options of a metric without options.
struct NoOptions {
  void visit(OptionVisitor&) {}
};

namespace internal {

template <class Observer, class = void>
struct OptionsOf {
  using type = NoOptions;
};
template <class Observer>
struct OptionsOf<Observer, std::void_t<typename Observer::Options>> {
  using type = typename Observer::Options;
};

template <class Function>
struct ObserveInputs;
template <class State, class Observer, class... Args>
struct ObserveInputs<State (Observer::*)(Args...) const> {
  using type = std::tuple<std::decay_t<Args>...>;
};
// Rejected by check_observer(), with an explanation.
template <class State, class Observer, class... Args>
struct ObserveInputs<State (Observer::*)(Args...)> {
  using type = std::tuple<>;
};

// An observer of type-erased inputs has observe_inputs(Inputs, const
// BatchOrigin&) instead of observe(...).
template <class Observer, class = void>
struct TakesAnyInputs : std::false_type {
  using Tuple = typename ObserveInputs<decltype(&Observer::observe)>::type;
};
template <class Observer>
struct TakesAnyInputs<
    Observer,
    std::void_t<decltype(std::declval<const Observer&>().observe_inputs(
        std::declval<Inputs>(), std::declval<const BatchOrigin&>()))>>
    : std::true_type {
  using Tuple = std::tuple<>;
};

// An observer's declaration of its inputs: kInputs or inputs().
template <class Observer>
using InputsConstantOf = decltype(Observer::kInputs);
template <class Observer>
using InputsFunctionOf = decltype(std::declval<const Observer&>().inputs());
// How many of them may be positional, for an observer that contains metrics.
template <class Observer>
using PositionalInputsOf =
    decltype(std::declval<const Observer&>().positional_inputs());

// An observer whose empty state depends on its options has identity().
template <class Observer>
using IdentityOf = decltype(std::declval<const Observer&>().identity());

// An observer whose state can be derived from another one's has
//     using Source = ...;  // the other observer
//     // Its options, or nullopt if not possible with these.
//     static std::optional<...> source_options(const Options&);
//     State derive(const Source::State&) const;
// The Source has no Source of its own.
template <class Observer>
using SourceOf = typename Observer::Source;

// See MetricSampling.
template <class Observer, class Metric>
using SamplingOf = decltype(Observer::sampling(std::declval<const Metric&>()));
template <class Observer>
using UnitOf = decltype(Observer::kUnit);
template <class Observer>
using UnitInputOf = decltype(Observer::kUnitInput);
template <class Metric>
using SummaryOf = decltype(Metric::kSummary);
// Of a metric or its observer: a sentence on why there is no interval, and what
// to use instead.
template <class T>
using NoIntervalOf = decltype(T::kNoInterval);
template <class T>
using IsSelectedOf = decltype(T::kIsSelected);

template <class Options>
using ValidateOf = decltype(std::declval<const Options&>().validate(""));

// Options that may have no effect because of others have
//     /// A sentence on each.
//     std::vector<std::string> without_effect() const;
template <class Options>
using WithoutEffectOf =
    decltype(std::declval<const Options&>().without_effect());

template <class Options>
std::vector<std::string> remarks_of(const Options& options) {
  if constexpr (kHas<WithoutEffectOf, Options>) {
    return options.without_effect();
  } else {
    (void)options;
    return {};
  }
}

template <class Observer>
using NameOf = decltype(Observer::kName);

template <class Observer, class... Args>
using ObservedBy = decltype(std::declval<const Observer&>().observe(
    std::declval<const Args&>()...));
template <class Observer, class... Args>
inline constexpr bool kIsObservable = kHas<ObservedBy, Observer, Args...>;

// Whether update() takes arguments of these types.
template <class Observer, class... Args>
struct TakesInputs
    : std::bool_constant<
          TakesAnyInputs<Observer>::value ||
          kIsObservable<Observer, std::decay_t<decltype(as_input(
                                      std::declval<const Args&>()))>...>> {};

std::string type_name(const std::type_info& type);

/// Constructs it from options and MetricOptions, from options, or from nothing,
/// whichever it supports.
template <class Observer, class Options>
Observer make_observer(const Options& options,
                       const MetricOptions& metric_options) {
  const OutsideInference outside;
  if constexpr (std::is_constructible_v<Observer, const Options&,
                                        const MetricOptions&>) {
    return Observer(options, metric_options);
  } else if constexpr (std::is_constructible_v<Observer, const Options&>) {
    return Observer(options);
  } else {
    return Observer();
  }
}

template <class Observer>
AnyState identity_of(const Observer& observer) {
  const OutsideInference outside;
  if constexpr (kHas<IdentityOf, Observer>) {
    return AnyState::of(observer.identity());
  } else {
    (void)observer;
    return AnyState(state_ops<typename Observer::State>());
  }
}

/// Options that contain metrics, whose keys are among the visited options.
template <class Options>
using MetricsOf = decltype(std::declval<const Options&>().metric_keys());

/// Equal for metrics that accumulate the same state from the same inputs.
template <class Observer, class Options>
StateKey state_key_of(const Options& options,
                      const MetricOptions& metric_options) {
  std::string name;
  if constexpr (kHas<NameOf, Observer>) {
    name = Observer::kName;
  } else {
    name = type_name(typeid(Observer));
  }
  StateKey key(name, typeid(Observer));
  key += "(" + options_state_key(options) + "; ";
  key += options_state_key(metric_options) + ")";
  if constexpr (kHas<MetricsOf, Options>) {
    key.add_types(options.metric_keys());
  }
  return key;
}

/// The key of the state from which this one is derived; empty if there is none.
template <class Observer, class Options>
StateKey source_key_of(const Options& options,
                       const MetricOptions& metric_options) {
  if constexpr (kHas<SourceOf, Observer>) {
    if (const auto source = Observer::source_options(options)) {
      return state_key_of<typename Observer::Source>(*source, metric_options);
    }
  }
  return {};
}

template <class Options>
using DimensionsOf = decltype(std::declval<const Options&>().dimensions());

template <class Options>
Dimensions dimensions_of(const Options& options) {
  if constexpr (kHas<DimensionsOf, Options>) {
    return options.dimensions();
  } else {
    (void)options;
    return {};
  }
}

template <class Options>
Options validated(Options options, const char* metric) {
  if constexpr (kHas<ValidateOf, Options>) options.validate(metric);
  check_options(options, metric);
  return options;
}

template <class Observer>
using KeepsOnCpuOf = decltype(std::declval<const Observer&>().keeps_on_cpu());

/// Whether an observer's states are on the CPU, wherever inputs are.
template <class Observer>
bool keeps_on_cpu([[maybe_unused]] const Observer& observer,
                  const MetricOptions& options) {
  if constexpr (kHas<KeepsOnCpuOf, Observer>) {
    return options.compute_on_cpu() || observer.keeps_on_cpu();
  } else {
    return options.compute_on_cpu();
  }
}

/// Calls `function(name, tensor)` for each tensor of a result; the name is
/// empty if the result is a tensor.
template <class Result, class Function>
void for_each_part(Result& result, const Function& function) {
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    function(std::string(), result);
  } else {
    ResultParts parts;
    result_parts(result, parts);
    for (const ResultParts::Part& part : parts) {
      function(part.name, *part.value);
    }
  }
}

/// Adds the parts of the metric's result as `name`, or `name.part`.
template <class Metric, class Result>
void add_result(const Metric& metric, Result result, const std::string& name,
                Results& results) {
  const auto add = [&](std::string full, at::Tensor& value, Dimensions own) {
    if (own.empty() && value.defined() && value.dim() > 0) {
      own = metric.dimensions();
    }
    results.add(std::move(full), std::move(value), std::move(own));
  };
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    add(name, result, {});
  } else {
    ResultParts parts;
    result_parts(result, parts);
    for (const ResultParts::Part& part : parts) {
      const char* dot = name.empty() || part.name.empty() ? "" : ".";
      add(name + dot + part.name, *part.value, part.dimensions);
    }
  }
}

/// The inputs in kInputs; empty if there is none.
template <class Observer>
c10::ArrayRef<InputInfo> declared_inputs() {
  if constexpr (kHas<InputsConstantOf, Observer>) {
    return Observer::kInputs;
  } else {
    return {};
  }
}

template <class Observer>
c10::ArrayRef<InputInfo> inputs_of(const Observer& observer) {
  if constexpr (kHas<InputsFunctionOf, Observer>) {
    return observer.inputs();
  } else {
    (void)observer;
    return declared_inputs<Observer>();
  }
}

}  // namespace internal
}  // namespace tally
