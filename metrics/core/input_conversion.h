#pragma once

#include <cstddef>
#include <optional>
#include <typeinfo>
#include <vector>

#include "tally/metrics/inputs.h"

/// Converts inputs whose types are known only at run time to those of
/// observe().
namespace tally::internal {

/// Both name the inputs that `inputs` declare.
[[noreturn]] void refuse_input_count(const char* metric,
                                     c10::ArrayRef<InputInfo> inputs,
                                     std::size_t least, std::size_t most,
                                     std::size_t got);
/// Throws c10::TypeError.
[[noreturn]] void refuse_input_type(const char* metric, std::size_t index,
                                    c10::ArrayRef<InputInfo> inputs,
                                    const std::type_info& expected,
                                    const std::type_info& got);
/// Reads an input for a parameter of observe() of type T; views accept anything
/// they can be constructed from. Empty if `input` is of another type.
template <class T>
struct InputConversion {
  static const T* of(const InputRef& input) { return input.as<T>(); }
};
template <>
struct InputConversion<TextList> {
  static std::optional<TextList> of(const InputRef& input);
};
template <>
struct InputConversion<TextLists> {
  static std::optional<TextLists> of(const InputRef& input);
};
template <class T>
struct InputConversion<c10::ArrayRef<T>> {
  static std::optional<c10::ArrayRef<T>> of(const InputRef& input) {
    if (const auto* list = input.as<std::vector<T>>()) return *list;
    if (const auto* view = input.as<c10::ArrayRef<T>>()) return *view;
    return std::nullopt;
  }
};

}  // namespace tally::internal
