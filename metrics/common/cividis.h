#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tally::internal {

/// Red, green, blue.
using Color = std::array<std::uint8_t, 3>;

/// matplotlib's cividis at i of 255, from dark blue to yellow: readers with any
/// color vision tell its colors apart. Between every 16th it is interpolated.
inline Color cividis(int i) {
  constexpr int kSteps = 16;
  constexpr Color kStops[] = {{0, 34, 78},     {0, 45, 104},    {24, 55, 111},
                              {49, 67, 109},   {66, 78, 108},   {82, 89, 109},
                              {96, 100, 111},  {110, 111, 115}, {124, 123, 120},
                              {139, 135, 120}, {154, 147, 118}, {170, 160, 115},
                              {187, 173, 109}, {204, 186, 100}, {221, 200, 88},
                              {239, 215, 72},  {254, 232, 56}};
  const int stop = std::min(i / kSteps, kSteps - 1);
  const int rest = i - stop * kSteps;
  Color color{};
  for (std::size_t channel = 0; channel < color.size(); ++channel) {
    color[channel] =
        static_cast<std::uint8_t>((kStops[stop][channel] * (kSteps - rest) +
                                   kStops[stop + 1][channel] * rest) /
                                  kSteps);
  }
  return color;
}

}  // namespace tally::internal
