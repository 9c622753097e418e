#pragma once

#include <cstdint>

#include "tally/metrics/plain_values.h"

namespace tally::internal::audio {

template <class T>
bool is_constant(const T* values, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (values[i] != values[0]) return false;
  }
  return true;
}

/// Exact where all values are equal. REQUIRES: count is above 0.
template <class T>
double mean_of(const T* values, std::int64_t count) {
  if (is_constant(values, count)) return values[0];
  return sum_terms(count, [=](std::int64_t i) -> double { return values[i]; }) /
         static_cast<double>(count);
}

}  // namespace tally::internal::audio
