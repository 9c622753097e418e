#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "tally/metrics/core/input_conversion.h"
#include "tally/metrics/core/metric_traits.h"

namespace tally::internal {

/// Calls observe() with inputs whose types are known only at run time.
template <class Observer>
class ObserveCall {
 public:
  /// Calls `observe(inputs...)` with all inputs. Throws c10::ValueError if it
  /// does not take that many, c10::TypeError for an input of another type.
  template <class Observe>
  static typename Observer::State call(const char* metric, Inputs inputs,
                                       const Observe& observe) {
    return call_with<kMost>(metric, inputs, observe);
  }

  /// Whether the declared inputs match the parameters of observe().
  static constexpr bool declares(const InputInfo* inputs, std::size_t count) {
    bool fits = count == kMost;
    for (std::size_t i = 0; fits && i < count; ++i) {
      fits = inputs[i].is_optional == (i >= least_inputs<0>());
    }
    return fits;
  }

 private:
  using Tuple = typename TakesAnyInputs<Observer>::Tuple;
  static constexpr std::size_t kMost = std::tuple_size_v<Tuple>;

  template <std::size_t kCount, class Observe>
  static typename Observer::State call_with(const char* metric, Inputs inputs,
                                            const Observe& observe) {
    constexpr auto indexes = std::make_index_sequence<kCount>();
    if constexpr (callable(indexes)) {
      if (inputs.size() == kCount) {
        return unpack(metric, inputs, observe, indexes);
      }
    }
    if constexpr (kCount > 0) {
      return call_with<kCount - 1>(metric, inputs, observe);
    } else {
      refuse_input_count(metric, declared_inputs<Observer>(), least_inputs<0>(),
                         kMost, inputs.size());
    }
  }

  template <std::size_t kCount>
  static constexpr std::size_t least_inputs() {
    if constexpr (callable(std::make_index_sequence<kCount>())) {
      return kCount;
    } else {
      return least_inputs<kCount + 1>();
    }
  }

  template <std::size_t... kIndex>
  static constexpr bool callable(std::index_sequence<kIndex...>) {
    return kIsObservable<Observer, std::tuple_element_t<kIndex, Tuple>...>;
  }

  template <class Observe, std::size_t... kIndex>
  static typename Observer::State unpack(const char* metric, Inputs inputs,
                                         const Observe& observe,
                                         std::index_sequence<kIndex...>) {
    // In their order: of several wrong inputs the first is named.
    const std::tuple<decltype(input<std::tuple_element_t<kIndex, Tuple>>(
        metric, inputs, kIndex))...>
        values{input<std::tuple_element_t<kIndex, Tuple>>(metric, inputs,
                                                          kIndex)...};
    return observe(*std::get<kIndex>(values)...);
  }

  template <class T>
  static const T* left_out(const T*) {
    static const T kNone{};
    return &kNone;
  }
  template <class T>
  static std::optional<T> left_out(const std::optional<T>&) {
    return T();
  }

  // A pointer, or a view in an optional.
  template <class T>
  static auto input(const char* metric, Inputs inputs, std::size_t index) {
    auto value = InputConversion<T>::of(inputs[index]);
    if (!value && index >= least_inputs<0>() && inputs[index].is_none()) {
      value = left_out<T>(value);
    }
    if (!value) {
      refuse_input_type(metric, index, declared_inputs<Observer>(), typeid(T),
                        inputs[index].type());
    }
    return value;
  }
};

}  // namespace tally::internal
