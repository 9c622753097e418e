#include "tally/testing/internal/pretend_operators.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/strides.h>
#include <torch/library.h>

#include <optional>
#include <utility>

#include "tally/testing/internal/pretend_counts.h"
#include "tally/testing/internal/pretend_memory.h"

namespace tally::testkit::internal {
namespace {

using at::Tensor;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::CUDA);

Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
             std::optional<at::Layout> /*layout*/,
             std::optional<at::Device> device, std::optional<bool> /*pinned*/,
             std::optional<at::MemoryFormat> format) {
  check_not_lost();
  const c10::OptionalDeviceGuard guard(device);
  return Tensor(at::detail::empty_generic(
      sizes, &pretend_memory(), kKeys, c10::dtype_or_default(dtype), format));
}

Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                     std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> /*layout*/,
                     std::optional<at::Device> device,
                     std::optional<bool> /*pinned*/) {
  check_not_lost();
  const c10::OptionalDeviceGuard guard(device);
  return Tensor(at::detail::empty_strided_generic(
      sizes, strides, &pretend_memory(), kKeys, c10::dtype_or_default(dtype)));
}

void copy_values(const Tensor& from, const Tensor& to) {
  check_not_lost();
  const auto bytes = static_cast<std::int64_t>(from.nbytes());
  if (bytes > 0 && is_pretend(from) && is_pretend(to)) {
    count_launch("aten::copy_");
  } else if (bytes > 0 && is_pretend(from)) {
    count_wait(&DeviceCounts::copies_to_host, "copy to the host",
               &DeviceCounts::bytes_to_host, bytes);
  } else if (bytes > 0) {
    count_wait(&DeviceCounts::copies_to_device, "copy to the device",
               &DeviceCounts::bytes_to_device, bytes);
  }
  Tensor place = is_pretend(to) ? kernel_view(to) : to;
  static const auto copy = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("aten::copy_", "")
                               .typed<Tensor&(Tensor&, const Tensor&, bool)>();
  const at::AutoDispatchBelowADInplaceOrView below;
  copy.redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), place,
                  is_pretend(from) ? kernel_view(from) : from,
                  /*non_blocking=*/false);
}

Tensor& copy(Tensor& self, const Tensor& from, bool /*non_blocking*/) {
  copy_values(from, self);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& to, bool /*non_blocking*/) {
  copy_values(self, to);
  return to;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  if (self.sizes() != to.sizes()) to.resize_(self.sizes());
  copy_values(self, to);
  return to;
}

at::Scalar local_scalar(const Tensor& self) {
  check_not_lost();
  count_wait(&DeviceCounts::items, "item");
  return at::_local_scalar_dense(kernel_view(self));
}

const Tensor& resize(const Tensor& self, at::IntArrayRef sizes,
                     std::optional<at::MemoryFormat> format) {
  resize_on_device(self, sizes, c10::contiguous_strides(sizes));
  if (format && *format != at::MemoryFormat::Contiguous &&
      *format != at::MemoryFormat::Preserve) {
    self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
  return self;
}

Tensor& set_storage(Tensor& self, at::Storage source, std::int64_t offset,
                    at::IntArrayRef sizes, at::IntArrayRef strides) {
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_storage_offset(offset);
  const c10::DimVector own = c10::contiguous_strides(sizes);
  impl->set_sizes_and_strides(sizes,
                              strides.empty() ? at::IntArrayRef(own) : strides);
  return self;
}

Tensor& set_whole_storage(Tensor& self, at::Storage source) {
  const auto size =
      static_cast<std::int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {size}, {1});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(),
                     source.sizes(), source.strides());
}

Tensor& set_nothing(Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  return set_storage(
      self,
      c10::Storage(c10::Storage::use_byte_size_t(), 0,
                   pretend_memory().allocate(0), &pretend_memory(), true),
      0, {0}, {1});
}

}  // namespace

void register_pretend_operators() {
  // Never destroyed, as tensors may outlive static variables.
  static torch::Library& all = *new torch::Library(
      torch::Library::IMPL, "_", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  all.fallback(
      torch::CppFunction::makeFromBoxedFunction<&run_pretend_kernel>());
  static torch::Library& own = *new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  own.impl("empty.memory_format", TORCH_FN(empty));
  own.impl("empty_strided", TORCH_FN(empty_strided));
  own.impl("copy_", TORCH_FN(copy));
  own.impl("_copy_from", TORCH_FN(copy_from));
  own.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  own.impl("_local_scalar_dense", TORCH_FN(local_scalar));
  own.impl("resize_", TORCH_FN(resize));
  own.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  own.impl("set_.source_Storage", TORCH_FN(set_whole_storage));
  own.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  own.impl("set_", TORCH_FN(set_nothing));
  own.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  own.impl("view", TORCH_FN(at::native::view));
  own.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  own.impl("unfold", TORCH_FN(at::native::unfold));
  own.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  own.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  // Compositions that would choose kernels of CUDA's libraries.
  for (const char* name :
       {"convolution", "convolution_backward", "convolution_overrideable",
        "convolution_backward_overrideable"}) {
    own.impl(name,
             torch::CppFunction::makeFromBoxedFunction<&run_pretend_kernel>());
  }
}

}  // namespace tally::testkit::internal
