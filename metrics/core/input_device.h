#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/core/maybe_device.h"
#include "tally/metrics/inputs.h"

namespace tally::internal {

/// The device of all inputs: the first that is not the CPU, or else the CPU. A
/// number of the CPU has none, as LibTorch takes it along with tensors of any
/// device; neither have texts.
class InputDevice {
 public:
  void add(const at::Tensor& tensor) {
    if (tensor.is_cpu()) {
      any_on_cpu_ = any_on_cpu_ || tensor.dim() > 0;
    } else if (tensor.defined() && !other_.is_known()) {
      other_ = tensor.device();
    }
  }
  template <class T>
  void add_all(const T& input) {
    visit_tensors_of(input, [this](const at::Tensor& each) { add(each); });
  }
  void add_all(const InputRef& input) {
    input.visit_tensors([this](const at::Tensor& each) { add(each); });
  }

  MaybeDevice device() const {
    return any_on_cpu_ && !other_.is_known() ? MaybeDevice::cpu() : other_;
  }

 private:
  bool any_on_cpu_ = false;
  MaybeDevice other_;
};

inline MaybeDevice device_of(MaybeDevice device) { return device; }
template <class... Args>
MaybeDevice device_of_all(const Args&... inputs) {
  InputDevice device;
  (device.add_all(inputs), ...);
  return device.device();
}
inline MaybeDevice device_of(Inputs inputs) {
  InputDevice device;
  for (const InputRef& input : inputs) device.add_all(input);
  return device.device();
}
inline MaybeDevice device_of(NamedInputs inputs) {
  InputDevice device;
  for (const NamedInput& input : inputs) device.add_all(input.value());
  return device.device();
}

}  // namespace tally::internal
