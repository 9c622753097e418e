#pragma once

// What LibTorch asks of a device's backend, besides its operators.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

namespace tally::port {

using DeviceGuardImpl = c10::impl::DeviceGuardImplInterface;
using CudaHooks = at::CUDAHooksInterface;

/// Whether LibTorch has the backend of CUDA.
inline bool has_cuda_hooks() {
  return at::CUDAHooksRegistry()->Has("CUDAHooks");
}

/// Before anything asks for them: LibTorch looks once.
template <class Hooks>
void register_cuda_hooks() {
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks", [](at::CUDAHooksArgs) -> std::unique_ptr<CudaHooks> {
        return std::make_unique<Hooks>();
      });
}

/// The implementation is never destroyed.
inline void register_device_guard(c10::DeviceType type,
                                  const DeviceGuardImpl* guard) {
  c10::impl::registerDeviceGuard(type, guard);
}

}  // namespace tally::port
