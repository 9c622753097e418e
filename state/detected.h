#pragma once

#include <type_traits>

namespace tally::internal {

template <class, template <class...> class Op, class... Args>
struct Detected : std::false_type {};
template <template <class...> class Op, class... Args>
struct Detected<std::void_t<Op<Args...>>, Op, Args...> : std::true_type {};

/// Whether Op<Args...> is a type:
///
///     template <class T>
///     using SizeOf = decltype(std::declval<const T&>().size());
///     if constexpr (kHas<SizeOf, T>) ...
template <template <class...> class Op, class... Args>
inline constexpr bool kHas = Detected<void, Op, Args...>::value;

}  // namespace tally::internal
