#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/core/observe_call.h"

/// Compile-time checks for mistakes in an observer that would otherwise
/// cause many errors elsewhere, or none at all.
namespace tally::internal {

template <class Observer, class = void>
struct ObserveIsConst : std::true_type {};
template <class Function>
struct IsConstMember : std::true_type {};
template <class R, class Observer, class... Args>
struct IsConstMember<R (Observer::*)(Args...)> : std::false_type {};
template <class Observer>
struct ObserveIsConst<Observer, std::void_t<decltype(&Observer::observe)>>
    : IsConstMember<decltype(&Observer::observe)> {};

template <class Options, class = void>
struct HasValidateOfAnyKind : std::false_type {};
template <class Options>
struct HasValidateOfAnyKind<Options, std::void_t<decltype(&Options::validate)>>
    : std::is_member_function_pointer<decltype(&Options::validate)> {};

// Converts to any constructor parameter, except the constructed type itself.
template <class Observer>
struct AnyArgument {
  template <class T, std::enable_if_t<!std::is_same_v<T, Observer>, int> = 0>
  operator const T&() const;
};
template <class A>
inline constexpr bool kTakesArguments =
    std::is_constructible_v<A, AnyArgument<A>> ||
    std::is_constructible_v<A, AnyArgument<A>, AnyArgument<A>>;
template <class A, class Options>
inline constexpr bool kTakesOptions =
    std::is_constructible_v<A, const Options&, const MetricOptions&> ||
    std::is_constructible_v<A, const Options&>;

/// Whether an input declared with a kind can be passed to observe() as a T.
template <class T>
constexpr bool is_of_kind(InputKind kind) {
  switch (kind) {
    case InputKind::kReal:
    case InputKind::kFloat:
    case InputKind::kInteger:
    case InputKind::kKeys:
    case InputKind::kCategories:
    case InputKind::kGroups:
    case InputKind::kSegments:
      return std::is_same_v<T, at::Tensor>;
    case InputKind::kText:
      return std::is_same_v<T, TextList>;
    case InputKind::kTextLists:
    case InputKind::kTokens:
      return std::is_same_v<T, TextLists>;
    case InputKind::kRagged:
    case InputKind::kTasks:
      return !std::is_same_v<T, at::Tensor> && !std::is_same_v<T, TextList> &&
             !std::is_same_v<T, TextLists>;
    case InputKind::kAny:
      return true;
  }
  return false;
}
template <class... T>
constexpr bool are_of_kinds(const InputInfo* inputs, std::size_t count,
                            std::tuple<T...>*) {
  std::size_t i = 0;
  return ((i == count || is_of_kind<T>(inputs[i++].kind)) && ...);
}
template <class Observer>
constexpr void check_inputs() {
  constexpr const auto& inputs = Observer::kInputs;
  constexpr std::size_t count = std::size(inputs);
  using Tuple = typename TakesAnyInputs<Observer>::Tuple;
  static_assert(ObserveCall<Observer>::declares(inputs, count),
                "kInputs has one entry for each input of observe(), in order; "
                "those with a default, and no others, are optional");
  static_assert(are_of_kinds(inputs, count, static_cast<Tuple*>(nullptr)),
                "the InputKind of each of kInputs goes with the type of "
                "observe()'s parameter: kReal, kFloat and kInteger with "
                "at::Tensor, kText with TextList, kTextLists and kTokens with "
                "TextLists, kRagged and kTasks with any other, kAny with all");
}

template <class Observer, class Options>
constexpr bool check_observer() {
  static_assert(ObserveIsConst<Observer>::value,
                "observe() of an observer is const: `State observe(const "
                "at::Tensor& preds, ...) const`");
  static_assert(
      kHas<ValidateOf, Options> || !HasValidateOfAnyKind<Options>::value,
      "validate() of options takes the metric's name and is const: `void "
      "validate(const char* metric) const`");
  static_assert(!std::is_constructible_v<Observer, const MetricOptions&> ||
                    kTakesOptions<Observer, Options>,
                "an observer that needs MetricOptions takes them behind the "
                "metric's options: `(const Options&, const MetricOptions&)`, "
                "with NoOptions where it has none");
  static_assert(std::is_constructible_v<Observer, const MetricOptions&> ||
                    kTakesOptions<Observer, Options> ||
                    !kTakesArguments<Observer>,
                "an observer is made from `(const Options&, const "
                "MetricOptions&)`, from `(const Options&)`, or from nothing; "
                "this one takes other options than the metric has");
  if constexpr (kHas<InputsConstantOf, Observer> &&
                ObserveIsConst<Observer>::value) {
    check_inputs<Observer>();
  }
  return true;
}

template <class Metric>
constexpr const char* checked_name() {
  static_assert(kHas<NameOf, Metric>,
                "give the metric its name: static constexpr const char* kName "
                "= \"...\";");
  if constexpr (kHas<NameOf, Metric>) {
    return Metric::kName;
  } else {
    return "";
  }
}

/// Whether observe() accepts inputs of these types; if not, compilation fails
/// here, naming the observer.
template <class Observer, class... Args>
constexpr bool check_taken() {
  static_assert(TakesInputs<Observer, Args...>::value,
                "expected inputs as the metric's header lists them behind "
                "update(...), for example metric.update(preds, target): these "
                "are more, fewer or of other types than its observe() takes");
  return TakesInputs<Observer, Args...>::value;
}

}  // namespace tally::internal
