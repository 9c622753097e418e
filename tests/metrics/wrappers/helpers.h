#pragma once

#include <ATen/ops/tensor.h>

#include <initializer_list>
#include <limits>

#include "tally/metrics/results.h"

namespace tally::testkit {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline double number(const at::Tensor& value) { return value.item<double>(); }
inline double number(const Results& results) { return number(results.value()); }

inline at::Tensor columns(std::initializer_list<double> values,
                          std::int64_t count) {
  return at::tensor(values).reshape({-1, count});
}

}  // namespace tally::testkit
