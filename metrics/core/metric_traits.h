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
template <class Observer, class = void>
struct HasInputsConstant : std::false_type {};
template <class Observer>
struct HasInputsConstant<Observer, std::void_t<decltype(Observer::kInputs)>>
    : std::true_type {};
template <class Observer, class = void>
struct HasInputsFunction : std::false_type {};
template <class Observer>
struct HasInputsFunction<
    Observer, std::void_t<decltype(std::declval<const Observer&>().inputs())>>
    : std::true_type {};
// How many of them may be positional, for an observer that contains metrics.
template <class Observer, class = void>
struct HasPositionalInputs : std::false_type {};
template <class Observer>
struct HasPositionalInputs<
    Observer,
    std::void_t<decltype(std::declval<const Observer&>().positional_inputs())>>
    : std::true_type {};

// An observer whose empty state depends on its options has identity().
template <class Observer, class = void>
struct HasIdentity : std::false_type {};
template <class Observer>
struct HasIdentity<
    Observer, std::void_t<decltype(std::declval<const Observer&>().identity())>>
    : std::true_type {};

// An observer whose state can be derived from another one's has
//     using Source = ...;  // the other observer
//     // Its options, or nullopt if not possible with these.
//     static std::optional<...> source_options(const Options&);
//     State derive(const Source::State&) const;
// The Source has no Source of its own.
template <class Observer, class = void>
struct HasSource : std::false_type {};
template <class Observer>
struct HasSource<Observer, std::void_t<typename Observer::Source>>
    : std::true_type {};

template <class Options, class = void>
struct HasValidate : std::false_type {};
template <class Options>
struct HasValidate<
    Options, std::void_t<decltype(std::declval<const Options&>().validate(""))>>
    : std::true_type {};

// Options that may have no effect because of others have
//     /// A sentence on each.
//     std::vector<std::string> without_effect() const;
template <class Options, class = void>
struct HasWithoutEffect : std::false_type {};
template <class Options>
struct HasWithoutEffect<
    Options,
    std::void_t<decltype(std::declval<const Options&>().without_effect())>>
    : std::true_type {};

template <class Options>
std::vector<std::string> remarks_of(const Options& options) {
  if constexpr (HasWithoutEffect<Options>::value) {
    return options.without_effect();
  } else {
    (void)options;
    return {};
  }
}

template <class Observer, class = void>
struct HasName : std::false_type {};
template <class Observer>
struct HasName<Observer, std::void_t<decltype(Observer::kName)>>
    : std::true_type {};

template <class Void, class Observer, class... Args>
struct IsObservableImpl : std::false_type {};
template <class Observer, class... Args>
struct IsObservableImpl<
    std::void_t<decltype(std::declval<const Observer&>().observe(
        std::declval<const Args&>()...))>,
    Observer, Args...> : std::true_type {};
template <class Observer, class... Args>
using IsObservable = IsObservableImpl<void, Observer, Args...>;

// Whether update() takes arguments of these types.
template <class Observer, class... Args>
struct TakesInputs
    : std::bool_constant<
          TakesAnyInputs<Observer>::value ||
          IsObservable<Observer,
                       std::decay_t<decltype(as_input(
                           std::declval<const Args&>()))>...>::value> {};

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
  if constexpr (HasIdentity<Observer>::value) {
    return AnyState::of(observer.identity());
  } else {
    (void)observer;
    return AnyState(state_ops<typename Observer::State>());
  }
}

template <class Options, class = void>
struct HasMetrics : std::false_type {};
/// Options that contain metrics, whose keys are among the visited options.
template <class Options>
struct HasMetrics<
    Options,
    std::void_t<decltype(std::declval<const Options&>().metric_keys())>>
    : std::true_type {};

/// Equal for metrics that accumulate the same state from the same inputs.
template <class Observer, class Options>
StateKey state_key_of(const Options& options,
                      const MetricOptions& metric_options) {
  std::string name;
  if constexpr (HasName<Observer>::value) {
    name = Observer::kName;
  } else {
    name = type_name(typeid(Observer));
  }
  StateKey key(name, typeid(Observer));
  key += "(" + options_state_key(options) + "; ";
  key += options_state_key(metric_options) + ")";
  if constexpr (HasMetrics<Options>::value) {
    key.add_types(options.metric_keys());
  }
  return key;
}

/// The key of the state from which this one is derived; empty if there is none.
template <class Observer, class Options>
StateKey source_key_of(const Options& options,
                       const MetricOptions& metric_options) {
  if constexpr (HasSource<Observer>::value) {
    if (const auto source = Observer::source_options(options)) {
      return state_key_of<typename Observer::Source>(*source, metric_options);
    }
  }
  return {};
}

template <class Options, class = void>
struct HasDimensions : std::false_type {};
template <class Options>
struct HasDimensions<
    Options, std::void_t<decltype(std::declval<const Options&>().dimensions())>>
    : std::true_type {};

template <class Options>
Dimensions dimensions_of(const Options& options) {
  if constexpr (HasDimensions<Options>::value) {
    return options.dimensions();
  } else {
    (void)options;
    return {};
  }
}

template <class Options>
Options validated(Options options, const char* metric) {
  if constexpr (HasValidate<Options>::value) options.validate(metric);
  return options;
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
  if constexpr (HasInputsConstant<Observer>::value) {
    return Observer::kInputs;
  } else {
    return {};
  }
}

template <class Observer>
c10::ArrayRef<InputInfo> inputs_of(const Observer& observer) {
  if constexpr (HasInputsFunction<Observer>::value) {
    return observer.inputs();
  } else {
    (void)observer;
    return declared_inputs<Observer>();
  }
}

}  // namespace internal
}  // namespace tally
