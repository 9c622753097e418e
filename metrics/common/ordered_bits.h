#pragma once

#include <c10/util/bit_cast.h>

#include <cstdint>
#include <type_traits>

namespace tally::internal {

/// An unsigned number of as many bits as a float or a double.
template <class Value>
using OrderedBits =
    std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;

/// An unsigned number with the order of the floating-point one. Both zeros map
/// to the same number; NaN lies beyond the infinity of its sign.
template <class Value>
OrderedBits<Value> ordered_bits(Value value) {
  static_assert(std::is_floating_point_v<Value>);
  using Bits = OrderedBits<Value>;
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  value += Value{0};
  const auto bits = c10::bit_cast<Bits>(value);
  return bits ^ (bits >> kSign ? ~Bits{0} : Bits{1} << kSign);
}

/// The number with this position in the order.
template <class Bits>
auto from_ordered_bits(Bits place) {
  static_assert(std::is_unsigned_v<Bits>);
  using Value = std::conditional_t<sizeof(Bits) == 4, float, double>;
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  const Bits bits = place ^ (place >> kSign ? Bits{1} << kSign : ~Bits{0});
  return c10::bit_cast<Value>(bits);
}

}  // namespace tally::internal
