#pragma once

#include <ATen/ops/tensor.h>

#include <initializer_list>
#include <limits>
#include <string>

#include "tally/metrics/results.h"

namespace tally::testkit {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What a c10::Error says.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "nothing";
}

inline double number(const at::Tensor& value) { return value.item<double>(); }
inline double number(const Results& results) { return number(results.value()); }

inline at::Tensor columns(std::initializer_list<double> values,
                          std::int64_t count) {
  return at::tensor(values).reshape({-1, count});
}

}  // namespace tally::testkit
