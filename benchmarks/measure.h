#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace tally::benchmarks {

/// The wall-clock time of one call.
template <class Function>
double microseconds(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

/// REQUIRES: values are not empty.
inline double quantile(std::vector<double> values, double q) {
  const auto place = values.begin() +
                     static_cast<std::ptrdiff_t>(q * double(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace tally::benchmarks
