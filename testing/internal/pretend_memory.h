#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace tally::testkit::internal {

/// Of the memory that the CPU cannot read.
c10::Allocator& pretend_memory();

/// The device that allocations of this thread are made on.
c10::Device current_pretend_device();
void set_current_pretend_device(c10::DeviceIndex index) noexcept;

/// Whether the tensor is on a pretend device.
bool is_pretend(const at::Tensor& tensor);

/// The same memory as a kernel sees it: a tensor of the CPU.
at::Tensor kernel_view(const at::Tensor& tensor);

/// The address a kernel sees.
void* kernel_address(const void* device_address);

/// A copy on the device, with the strides of the original.
at::Tensor copy_to_device(const at::Tensor& host, c10::Device device);

/// Gives the tensor other sizes and, where it needs it, more memory.
void resize_on_device(const at::Tensor& tensor, at::IntArrayRef sizes,
                      at::IntArrayRef strides);

}  // namespace tally::testkit::internal
