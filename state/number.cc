#include "tally/state/number.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tally/state/fresh_tensor.h"

namespace tally {
namespace {

// Operators take one on the CPU beside one on a device as a number, without a
// copy.
std::pair<at::Tensor, at::Tensor> tensors(const Number& a, const Number& b) {
  return {a.tensor(), b.tensor()};
}

template <class T>
at::Tensor zero_dim(T value) {
  at::Tensor tensor =
      internal::fresh_tensor({}, c10::CppTypeToScalarType<T>::value);
  *tensor.mutable_data_ptr<T>() = value;
  return tensor;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

at::Tensor internal::scalar_tensor(double value) { return zero_dim(value); }
at::Tensor internal::scalar_tensor(std::int64_t value) {
  return zero_dim(value);
}

Number::Number(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.numel() == 1,
                    "expected a tensor of one element, got ",
                    tensor.defined() ? c10::str("sizes ", tensor.sizes())
                                     : std::string("an undefined one"));
  const bool graph = tensor.requires_grad() && at::GradMode::is_enabled();
  if (tensor.is_cpu() && !graph) {
    value_ = read(tensor);
  } else {
    tensor_ = tensor.reshape({}).to(at::kDouble);
  }
}

double Number::read(const at::Tensor& tensor) {
  if (tensor.is_cpu() && tensor.scalar_type() == at::kDouble) {
    return *tensor.const_data_ptr<double>();
  }
  return tensor.item().toDouble();
}

at::Tensor Number::tensor() const {
  return is_plain() ? internal::scalar_tensor(value_) : tensor_;
}

Number Number::add(const Number& a, const Number& b) {
  auto [x, y] = tensors(a, b);
  return Number(x.add(y));
}

Number Number::subtract(const Number& a, const Number& b) {
  auto [x, y] = tensors(a, b);
  return Number(x.sub(y));
}

Number Number::multiply(const Number& a, const Number& b) {
  auto [x, y] = tensors(a, b);
  return Number(x.mul(y));
}

Number Number::divide(const Number& a, const Number& b) {
  auto [x, y] = tensors(a, b);
  // By a number, CUDA multiplies by its inverse.
  return Number(x.div(y.to(x.is_cpu() ? y.device() : x.device())));
}

Number min(const Number& a, const Number& b) {
  if (Number::both_plain(a, b)) {
    if (std::isnan(a.value_) || std::isnan(b.value_)) return kNaN;
    return std::min(a.value_, b.value_);
  }
  auto [x, y] = tensors(a, b);
  return Number(x.minimum(y));
}

Number max(const Number& a, const Number& b) {
  if (Number::both_plain(a, b)) {
    if (std::isnan(a.value_) || std::isnan(b.value_)) return kNaN;
    return std::max(a.value_, b.value_);
  }
  auto [x, y] = tensors(a, b);
  return Number(x.maximum(y));
}

Number sqrt(const Number& a) {
  return a.is_plain() ? Number(std::sqrt(a.value_)) : Number(a.tensor_.sqrt());
}

}  // namespace tally
