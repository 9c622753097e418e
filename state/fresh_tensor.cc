#include "tally/state/fresh_tensor.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/safe_numerics.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tally/state/large_pages.h"

namespace tally::internal {
namespace {

// Beyond this LibTorch's alignment pays.
constexpr std::size_t kSmallBytes = 4096;

// Null where LibTorch's memory will do.
void* memory_for(std::size_t bytes) {
  if (bytes >= kLargePage) return allocate_large_pages(bytes);
  return bytes > 0 && bytes <= kSmallBytes ? std::malloc(bytes) : nullptr;
}

}  // namespace

at::Tensor fresh_tensor(at::IntArrayRef sizes, at::ScalarType dtype) {
  std::uint64_t bytes = c10::elementSize(dtype);
  bool overflows = false;
  for (const std::int64_t size : sizes) {
    overflows |=
        c10::mul_overflows(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  void* const data = overflows ? nullptr : memory_for(bytes);
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
