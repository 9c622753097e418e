#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Reading tensors in plain loops. REQUIRES: every tensor is_plain (checks.h).
namespace tally::internal {

/// Calls `visit` with a pointer to the tensor's values: float, double or int64
/// unconverted, other dtypes converted to double.
template <class Visit>
auto visit_values(const at::Tensor& tensor, const Visit& visit) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return visit(tensor.const_data_ptr<float>());
    case at::kLong:
      return visit(tensor.const_data_ptr<std::int64_t>());
    default:
      return visit(tensor.to(at::kDouble).const_data_ptr<double>());
  }
}

/// The same for two tensors; both pointers have the same type.
template <class Visit>
auto visit_values(const at::Tensor& a, const at::Tensor& b,
                  const Visit& visit) {
  const bool same = a.scalar_type() == b.scalar_type();
  if (same && a.scalar_type() == at::kFloat) {
    return visit(a.const_data_ptr<float>(), b.const_data_ptr<float>());
  }
  if (same && a.scalar_type() == at::kLong) {
    return visit(a.const_data_ptr<std::int64_t>(),
                 b.const_data_ptr<std::int64_t>());
  }
  return visit(a.to(at::kDouble).const_data_ptr<double>(),
               b.to(at::kDouble).const_data_ptr<double>());
}

/// Calls visit(i, lane) for i from 0 to count - 1, lanes from 0 to kLanes - 1
/// in turn: what each lane gathers need not wait for what the last one did.
template <int kLanes, class Visit>
void visit_in_lanes(std::int64_t count, const Visit& visit) {
  // So that of a constant count the compiler knows whether any are left.
  const std::int64_t whole = count - count % kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) visit(i + lane, lane);
  }
  for (std::int64_t i = whole; i < count; ++i) visit(i, 0);
}

/// The sum of term(0) to term(count - 1), several at a time.
template <class Term>
double sum_terms(std::int64_t count, const Term& term) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  visit_in_lanes<kLanes>(
      count, [&](std::int64_t i, int lane) { lanes[lane] += term(i); });
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace tally::internal
