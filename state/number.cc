#include "tally/state/number.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "tally/state/fresh_tensor.h"

namespace tally::internal {
namespace {

// Beyond this LibTorch's alignment pays.
constexpr std::size_t kSmallBytes = 4096;

}  // namespace

at::Tensor fresh_tensor(at::IntArrayRef sizes, at::ScalarType dtype) {
  std::size_t bytes = c10::elementSize(dtype);
  for (const std::int64_t size : sizes) bytes *= size;
  void* const data =
      bytes > 0 && bytes <= kSmallBytes ? std::malloc(bytes) : nullptr;
  if (!data) return at::Tensor(at::detail::empty_cpu(sizes, dtype));
  c10::DataPtr owned(data, data, &std::free, c10::kCPU);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(owned),
      c10::GetDefaultCPUAllocator(), /*resizable=*/true);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

at::Tensor fresh_zeros(at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor tensor = fresh_tensor(sizes, dtype);
  if (tensor.nbytes() > 0) {
    std::memset(tensor.mutable_data_ptr(), 0, tensor.nbytes());
  }
  return tensor;
}

at::Tensor fresh_copy(const at::Tensor& tensor) {
  const bool is_plain = tensor.is_cpu() && tensor.layout() == at::kStrided &&
                        tensor.is_contiguous() && !tensor.is_conj() &&
                        !tensor.is_neg() && tensor.nbytes() <= kSmallBytes &&
                        !(tensor.requires_grad() && at::GradMode::is_enabled());
  if (!is_plain) return tensor.clone();
  at::Tensor copy = fresh_tensor(tensor.sizes(), tensor.scalar_type());
  if (tensor.nbytes() > 0) {
    std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(),
                tensor.nbytes());
  }
  return copy;
}

}  // namespace tally::internal

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
