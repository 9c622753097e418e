#include "tally/metrics/intervals/multiple_tests.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tally/metrics/common/constants.h"

namespace tally {
namespace {

using PValues = std::vector<double>;
using Adjustment = PValues (*)(const PValues&);

/// The places of those that are not NaN, in ascending order.
std::vector<std::size_t> ascending(const char* name, const PValues& p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    const double p = p_values[i];
    if (std::isnan(p)) continue;
    TORCH_CHECK_VALUE(p >= 0 && p <= 1, name,
                      ": expected p-values in [0, 1], got ", p);
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return p_values[a] < p_values[b];
  });
  return order;
}

/// From the largest p on, the least of what `scaled` makes of it and of those
/// above; it gets the p, its rank from 1 on and their number.
template <class Scaled>
PValues step_up(const char* name, const PValues& p_values,
                const Scaled& scaled) {
  const std::vector<std::size_t> order = ascending(name, p_values);
  const auto count = static_cast<double>(order.size());
  PValues adjusted(p_values.size(), internal::kNaN);
  double least = 1;
  for (std::size_t i = order.size(); i > 0; --i) {
    const double p = p_values[order[i - 1]];
    least = std::min(least, scaled(p, static_cast<double>(i), count));
    adjusted[order[i - 1]] = least;
  }
  return adjusted;
}

at::Tensor of_tensor(const char* name, const at::Tensor& p_values,
                     Adjustment adjust) {
  TORCH_CHECK_VALUE(p_values.defined(), name,
                    ": expected p-values, got an undefined tensor");
  TORCH_CHECK_TYPE(!p_values.is_complex(), name,
                   ": expected real p-values, got ", p_values.scalar_type());
  const at::Tensor values = p_values.to(at::kCPU, at::kDouble).contiguous();
  const double* const begin = values.const_data_ptr<double>();
  const PValues adjusted = adjust(PValues(begin, begin + values.numel()));
  const at::Tensor result = at::empty(p_values.sizes(), at::kDouble);
  std::copy(adjusted.begin(), adjusted.end(),
            result.mutable_data_ptr<double>());
  return result.to(p_values.device());
}

}  // namespace

PValues holm(const PValues& p_values) {
  const std::vector<std::size_t> order = ascending("holm", p_values);
  PValues adjusted(p_values.size(), internal::kNaN);
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto left = static_cast<double>(order.size() - i);
    most = std::max(most, std::min(1.0, left * p_values[order[i]]));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

PValues hochberg(const PValues& p_values) {
  return step_up("hochberg", p_values, [](double p, double rank, double count) {
    return (count - rank + 1) * p;
  });
}

PValues benjamini_hochberg(const PValues& p_values) {
  return step_up(
      "benjamini_hochberg", p_values,
      [](double p, double rank, double count) { return p * count / rank; });
}

at::Tensor holm(const at::Tensor& p_values) {
  return of_tensor("holm", p_values, holm);
}

at::Tensor hochberg(const at::Tensor& p_values) {
  return of_tensor("hochberg", p_values, hochberg);
}

at::Tensor benjamini_hochberg(const at::Tensor& p_values) {
  return of_tensor("benjamini_hochberg", p_values, benjamini_hochberg);
}

}  // namespace tally
